#include "assay/format/npy_words.h"

#include "assay/format/npy_header.h"
#include "assay/format/pickle.h"

#include <unordered_set>

namespace assay {
namespace {

using Kind = PickleValue::Kind;

// What an array of objects holds: it is made by numpy's _reconstruct, and filled by (version, shape, dtype,
// order, elements).
PickleRef elements_of(const PickleGraph& graph) {
  constexpr size_t kElements = 4;
  const PickleValue& array = graph[graph.root];
  const PickleValue& state = graph[array.state];
  const bool is_filled =
      array.kind == Kind::call && state.kind == Kind::tuple && state.items.size() > kElements;
  return is_filled ? state.items[kElements] : graph.root;
}

NpyWords words_in(const PickleGraph& graph) {
  bool has_numbers = false;
  std::vector<PickleRef> waiting = {elements_of(graph)};
  std::unordered_set<PickleRef> seen;
  while (!waiting.empty()) {
    const PickleRef ref = waiting.back();
    waiting.pop_back();
    if (!seen.insert(ref).second) continue;
    const PickleValue& value = graph[ref];
    switch (value.kind) {
      case Kind::none:
      case Kind::text:
      case Kind::boolean:
      case Kind::global:
        break;
      case Kind::integer:
      case Kind::big_integer:
      case Kind::real:
        has_numbers = true;
        break;
      case Kind::list:
      case Kind::tuple:
        waiting.insert(waiting.end(), value.items.begin(), value.items.end());
        break;
      default:  // an array, a tensor, or what may be one
        return NpyWords::no;
    }
  }
  return has_numbers ? NpyWords::with_numbers : NpyWords::yes;
}

}  // namespace

NpyWords words_in_npy(const fs::path& path, int64_t memory) {
  const auto file = File::open(path);
  if (!file) return NpyWords::no;
  const auto read = [&](int64_t offset, std::span<std::byte> out) { return (*file)->read(offset, out); };
  const auto start = read_npy_start(read, (*file)->size(), memory, (*file)->name());
  if (!start) return NpyWords::no;
  const size_t code = start->descr.find_first_not_of("<>|=");
  const char type = code == std::string::npos ? '\0' : start->descr[code];
  if (type == 'S' || type == 'U' || type == 'a') return NpyWords::yes;
  if (type != 'O') return NpyWords::no;
  PickleInput input(read, start->size, (*file)->size(), memory, (*file)->name());
  const auto graph = read_pickle(input, memory);
  return graph ? words_in(*graph) : NpyWords::no;
}

}  // namespace assay

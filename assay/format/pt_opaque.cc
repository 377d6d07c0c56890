#include "assay/format/pt_opaque.h"

#include "assay/base/text.h"
#include "assay/format/pt_names.h"

#include <algorithm>

namespace assay {
namespace {

using Kind = PickleValue::Kind;

// How protocols 0 to 2, which know no bytes, call for them.
constexpr std::string_view kMakersOfBytes[] = {"_codecs.encode", "builtins.bytes", "builtins.bytearray",
                                               "__builtin__.bytes", "__builtin__.bytearray"};

bool makes_bytes(const PickleValue& callable) {
  return callable.kind == Kind::global && std::find(std::begin(kMakersOfBytes), std::end(kMakersOfBytes),
                                                    callable.text) != std::end(kMakersOfBytes);
}

}  // namespace

std::optional<int64_t> raw_bytes(const PickleGraph& graph, const PickleValue& value) {
  if (value.kind == Kind::bytes) {
    if (value.is_str && printable(value.text) == value.text) return std::nullopt;
    return std::ssize(value.text);
  }
  // Ends: the argument was made before the call.
  const PickleValue* call = &value;
  while (call->kind == Kind::call && makes_bytes(graph[call->items[0]])) {
    const std::vector<PickleRef>& arguments = graph[call->items[1]].items;
    if (arguments.empty()) return 0;
    call = &graph[arguments[0]];
    if (call->kind == Kind::bytes) return std::ssize(call->text);
    if (call->kind == Kind::text)  // one character for each byte, in UTF-8
      return std::count_if(call->text.begin(), call->text.end(), [](char c) { return (c & 0xC0) != 0x80; });
  }
  return std::nullopt;
}

std::vector<std::string> refused_names(const PickleGraph& graph, size_t most) {
  std::vector<std::string> names;
  for (const PickleValue& value : graph.values) {
    if (value.kind != Kind::global || find_pt_name(value.text).meaning != PtMeaning::refused) continue;
    std::string name = printable(value.text.substr(0, kLongestName));
    if (std::find(names.begin(), names.end(), name) == names.end()) names.push_back(std::move(name));
    if (names.size() == most) break;
  }
  return names;
}

std::optional<std::string> refused_root(const PickleGraph& graph) {
  const PickleValue& root = graph[graph.root];
  if (root.kind != Kind::call) return std::nullopt;
  const PickleValue& callable = graph[root.items[0]];
  if (callable.kind != Kind::global || find_pt_name(callable.text).meaning != PtMeaning::refused)
    return std::nullopt;
  return printable(callable.text.substr(0, kLongestName));
}

int64_t count_detached(const PickleGraph& graph) {
  std::vector<bool> attached(graph.values.size());
  std::vector<PickleRef> waiting = {graph.root};
  while (!waiting.empty()) {
    const PickleRef next = waiting.back();
    waiting.pop_back();
    if (attached[next]) continue;
    attached[next] = true;
    const PickleValue& value = graph[next];
    waiting.insert(waiting.end(), value.items.begin(), value.items.end());
    waiting.push_back(value.state);
    waiting.push_back(value.keywords);
  }
  // The first three are None, False and True, which every graph has.
  return std::count(attached.begin() + 3, attached.end(), false);
}

}  // namespace assay

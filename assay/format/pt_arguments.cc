#include "assay/format/pt_arguments.h"

#include "assay/format/pt_opaque.h"

#include <algorithm>
#include <limits>

namespace assay {
namespace {

using Kind = PickleValue::Kind;

bool is_between(const PickleValue& value, int64_t least, int64_t most) {
  return (value.kind == Kind::integer || value.kind == Kind::boolean) && value.integer >= least &&
         value.integer <= most;
}

bool is_flag(const PickleValue& value) { return is_between(value, 0, 1); }

bool is_device(const PickleValue& value) {
  return (value.kind == Kind::text || value.kind == Kind::bytes) && std::ssize(value.text) <= kMostPlainBytes;
}

bool is_one_byte(const PickleGraph& graph, const PickleValue& value) {
  const bool is_plain = value.kind == Kind::text || value.kind == Kind::bytes;
  return is_plain ? value.text.size() == 1 : raw_bytes(graph, value) == 1;
}

// numpy.dtype('f4', False, True) with the state (3, '<', None, None, None, -1, -1, 0).
bool is_plain_dtype(const PickleGraph& graph, PickleRef ref) {
  const PickleValue& call = graph[ref];
  if (call.kind != Kind::call) return true;  // such an array was not read
  const auto is_usual = [&](PickleRef item) {
    const PickleValue& value = graph[item];
    return (value.kind != Kind::integer && value.kind != Kind::boolean) || is_between(value, -1, 4);
  };
  const auto &arguments = graph[call.items[1]].items, &state = graph[call.state].items;
  return std::all_of(arguments.begin(), arguments.end(), is_usual) &&
         std::all_of(state.begin(), state.end(), is_usual);
}

// _reconstruct(ndarray, (0,), b'b') with the state (1, shape, dtype, is_fortran, bytes).
bool is_plain_array(const PickleGraph& graph, const PtLink& link) {
  const std::vector<PickleRef>& arguments = link.arguments->items;
  const PickleValue& state = graph[link.call == 0 ? 0 : graph[link.call].state];
  if (arguments.size() != 3 || state.items.size() != 5) return false;
  const PickleValue &type = graph[arguments[0]], &shape = graph[arguments[1]];
  return type.kind == Kind::global && shape.kind == Kind::tuple && shape.items.size() == 1 &&
         is_between(graph[shape.items[0]], 0, 0) && is_one_byte(graph, graph[arguments[2]]) &&
         is_between(graph[state.items[0]], 0, 4) && is_flag(graph[state.items[3]]) &&
         is_plain_dtype(graph, state.items[2]);
}

}  // namespace

bool describes_tensor(const PickleGraph& graph, const PtLink& link, size_t i) {
  const PickleValue& value = graph[link.arguments->items[i]];
  if (value.kind == Kind::none || value.kind == Kind::global) return true;
  constexpr int64_t kMostFormats = 64;  // of the storage of a device
  switch (link.name.meaning) {
    case PtMeaning::tensor:
      return i == 4
                 ? is_flag(value)
                 : i == 6 && link.name.name.starts_with("torch_npu.") && is_between(value, -1, kMostFormats);
    case PtMeaning::typed_tensor:
      return i == 4 && is_flag(value);
    case PtMeaning::wrapper: {
      const bool is_of_device = link.name.name.starts_with("torch._utils._rebuild_device_");
      return is_of_device ? (i == 2 && is_device(value)) || (i == 3 && is_flag(value))
                          : i == 1 && is_flag(value);
    }
    default:
      return false;
  }
}

bool holds_more_than_array(const PickleGraph& graph, const PtLink& link) {
  const std::vector<PickleRef>& arguments = link.arguments->items;
  switch (link.name.meaning) {
    case PtMeaning::array:
      return !is_plain_array(graph, link);
    case PtMeaning::buffer_array:
      return arguments.size() != 4 || !is_one_byte(graph, graph[arguments[3]]) ||
             !is_plain_dtype(graph, arguments[1]);
    case PtMeaning::scalar:
      return arguments.size() != 2 || !is_plain_dtype(graph, arguments[0]);
    default:
      return false;
  }
}

size_t describing_arguments(PtMeaning meaning) {
  switch (meaning) {
    case PtMeaning::wrapper:
      return 1;
    case PtMeaning::from_type:
      return 3;
    case PtMeaning::unreadable:
      return std::numeric_limits<size_t>::max();
    default:
      return 4;
  }
}

}  // namespace assay

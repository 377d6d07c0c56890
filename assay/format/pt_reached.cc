#include "assay/format/pt_reached.h"

#include "assay/format/pt_opaque.h"
#include "assay/format/pt_tensor.h"

namespace assay {

bool makes_tensor(PtMeaning meaning) {
  switch (meaning) {
    case PtMeaning::refused:
    case PtMeaning::plain:
    case PtMeaning::elements:
    case PtMeaning::mapping:
      return false;
    default:
      return true;
  }
}

void PtReached::mark_below(PickleRef ref) {
  std::vector<PickleRef> waiting = {ref};
  while (!waiting.empty()) {
    const PickleRef next = waiting.back();
    waiting.pop_back();
    const PickleValue& value = graph_[next];
    if (is_reached_[next]) continue;
    is_reached_[next] = true;
    waiting.insert(waiting.end(), value.items.begin(), value.items.end());
    waiting.push_back(value.state);
    waiting.push_back(value.keywords);
  }
}

PtReached::Unreached PtReached::mark_rest() {
  Unreached rest;
  // Backwards: what a tensor is made of stands before it and is no tensor of its own.
  for (auto ref = static_cast<PickleRef>(graph_.values.size()); ref-- > 0;) {
    if (is_reached_[ref]) continue;
    const PickleValue& value = graph_[ref];
    const PtMeaning meaning =
        value.kind == PickleValue::Kind::call ? meaning_of(graph_, value).meaning : PtMeaning::plain;
    if (makes_tensor(meaning) || storage_id(graph_, value))
      ++rest.tensors;
    else if ((meaning == PtMeaning::refused && !value.is_object) ||
             raw_bytes(graph_, value).value_or(0) > kMostPlainBytes)
      ++rest.others;
    else
      continue;
    mark_below(ref);
  }
  return rest;
}

}  // namespace assay

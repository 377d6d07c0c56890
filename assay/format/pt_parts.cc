#include "assay/format/pt_parts.h"

#include "assay/format/pt_dict.h"

namespace assay {

PtLevel PtParts::elements(std::span<const PickleRef> items, std::string_view label) {
  PtLevel level;
  level.items = items;
  level.label = label;
  return level;
}

PtLevel PtParts::one(PickleRef ref, std::string_view label) {
  PtLevel level;
  level.own = {ref};
  level.items = level.own;
  level.form = PtLevel::Form::one;
  level.label = label;
  return level;
}

PtLevel PtParts::pairs(std::span<const PickleRef> items) {
  PtLevel level;
  level.items = items;
  level.form = PtLevel::Form::pairs;
  if (auto kept = last_of_each_key(graph_, items)) {
    values_.skip(static_cast<int64_t>(items.size() - kept->size()) / 2);
    level.own = std::move(*kept);
    level.items = level.own;
  }
  return level;
}

PtLevel PtParts::attributes(std::span<const PickleRef> items) {
  PtLevel level = pairs(items);
  level.is_attributes = true;
  return level;
}

PtLevel PtParts::pairs_of_mapping(const PickleValue& value, size_t& used) {
  std::vector<PickleRef> all = refs_of_mapping(graph_, value, used);
  PtLevel level = pairs(all);
  if (level.own.empty()) {
    level.own = std::move(all);
    level.items = level.own;
  }
  return level;
}

void PtParts::add_extras(const PickleValue& value, bool with_pairs, PickleRef state,
                         std::vector<PtLevel>& parts) {
  if (graph_[value.keywords].kind == PickleValue::Kind::dict)
    parts.push_back(pairs(graph_[value.keywords].items));
  if (value.items.size() > 2 && (with_pairs || !value.added_pairs)) {
    const auto added = std::span(value.items).subspan(2);
    parts.push_back(value.added_pairs ? pairs(added) : elements(added));
  }
  add_state(state, parts);
}

void PtParts::add_state(PickleRef ref, std::vector<PtLevel>& parts) {
  using Kind = PickleValue::Kind;
  const PickleValue& state = graph_[ref];
  const auto is_attributes = [&](PickleRef r) {
    return graph_[r].kind == Kind::dict || graph_[r].kind == Kind::none;
  };
  if (state.kind == Kind::none) return;
  if (state.kind == Kind::dict) {
    parts.push_back(attributes(state.items));
  } else if (state.kind == Kind::tuple && state.items.size() == 2 && is_attributes(state.items[0]) &&
             is_attributes(state.items[1])) {
    for (const PickleRef half : state.items) parts.push_back(attributes(graph_[half].items));
  } else {
    parts.push_back(one(ref, "state"));
  }
}

}  // namespace assay

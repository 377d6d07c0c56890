// What an object of a .pt pickle falls into: its elements, its pairs, its attributes.
#pragma once

#include "assay/format/pt_levels.h"
#include "assay/format/pt_values.h"

namespace assay {

class PtParts {
 public:
  // Counts in `values` what is given twice. Both outlive this.
  PtParts(const PickleGraph& graph, PtValues& values) : graph_(graph), values_(values) {}

  static PtLevel elements(std::span<const PickleRef> items, std::string_view label = {});
  static PtLevel one(PickleRef ref, std::string_view label);
  PtLevel pairs(std::span<const PickleRef> items);
  // Of an OrderedDict or its like; `used`: how many arguments that took.
  PtLevel pairs_of_mapping(const PickleValue& value, size_t& used);
  // What an object has beside its arguments: named arguments, what was added to it, its attributes.
  void add_extras(const PickleValue& value, bool with_pairs, PickleRef state, std::vector<PtLevel>& parts);
  // A state is a dict of attributes, or (dict, dict of slots), or what the class alone understands.
  void add_state(PickleRef ref, std::vector<PtLevel>& parts);

 private:
  PtLevel attributes(std::span<const PickleRef> items);

  const PickleGraph& graph_;
  PtValues& values_;
};

}  // namespace assay

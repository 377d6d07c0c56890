// What a module of a training run and one of an inference engine have in common, whatever they are called:
// its call, its layer, and what it is for.
#pragma once

#include "assay/compat/msprobe/consistent_matcher.h"

#include <optional>
#include <string>
#include <unordered_map>

namespace assay {

// Asked for the entries of a dump in their order.
class ModuleKeys {
 public:
  ModuleKeys(Side side, TrainingBackend backend) : side_(side), backend_(backend) {}

  // The same text for entries that are pairs. Nothing for those that have no row: no call of a module, or of
  // training what lies between the end of the model and its next beginning.
  std::optional<std::string> next(std::string_view entry);

 private:
  bool is_read(std::string_view entry);

  const Side side_;
  const TrainingBackend backend_;
  bool is_reading_ = true;
  std::unordered_map<std::string, int64_t> calls_;  // forwards so far, by module
};

}  // namespace assay

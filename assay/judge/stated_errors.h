// What four numbers allow to say of errors, where dumps name what every call was given and keep statistics
// alone: sizes are known, errors of single tensors are not. A result in which much cancels is smaller than
// the errors that it was given, which stay as they are; so is what is computed from it.
#pragma once

#include "assay/judge/error_gain.h"
#include "assay/judge/judge.h"

#include <optional>
#include <unordered_map>

namespace assay {

// By its statistics a tensor is known again; none where they are those of many: of constants, of masks.
std::optional<uint64_t> key_of_statistics(const Comparison& row);

class StatedErrors {
 public:
  void begin(const NodeResult& node);
  // How many times the tolerance of its types a row that fails may be off; 1: no more than others.
  // tolerance: of its types.
  double times(const NodeResult& node, const Comparison& row, double tolerance) const;
  // It may; what is computed from it inherits that.
  void remember(const Comparison& row, double times);

 private:
  double known(const Comparison& row) const;
  double times_of_bias_gradient(const NodeResult& node, const Comparison& row,
                                const GivenError& gradient) const;
  bool is_behind_bend_ = false;                 // gradients have come through a function with a bend
  std::unordered_map<uint64_t, double> times_;  // of few tensors, by their statistics
  std::unordered_map<uint64_t, double> given_;  // to layers: the size of their input, by CallName::key
};

}  // namespace assay

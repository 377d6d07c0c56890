// To which types numbers were rounded on their way, where dumps name what every call was given and keep
// statistics alone: a result in f32 that was computed from bf16 is as far off as bf16. A tensor is known
// again by its statistics, which no other has.
#pragma once

#include "assay/judge/judge.h"

#include <optional>
#include <unordered_map>

namespace assay {

class RoundedTypes {
 public:
  void begin(const NodeResult& node);
  // Of a row that is compared by statistics, inputs before outputs; takes note of it. None where its own
  // types say as much.
  std::optional<DType> of_row(const Comparison& row);

 private:
  std::unordered_map<uint64_t, DType> values_;   // by their statistics
  std::unordered_map<uint64_t, DType> forward_;  // by CallName::key: of all that a call was given and gave
  DType* own_ = nullptr;                         // of this call, which runs forwards
  DType given_ = DType::f64;                     // the coarsest that the operator at hand was given
  DType made_ = DType::f64;                      // … that any operator so far has made
};

}  // namespace assay

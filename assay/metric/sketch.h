// The sketch of a tensor, in one pass.
#pragma once

#include "assay/model/sketch.h"

#include <map>
#include <mutex>

namespace assay {

// What the signs of each lane add up to, by the number of elements: most tensors have one of a few sizes.
class SignSums {
 public:
  using Lanes = std::array<double, Sketch::kLanes>;
  const Lanes& of(int64_t elements);  // any thread

 private:
  std::mutex guard_;
  std::map<int64_t, Lanes> known_;
};

Result<Sketch> sketch_of(const Operand& operand, SignSums& sign_sums, SketchDepth depth = SketchDepth::all);

}  // namespace assay

// How much may be done to pair tensors by what they hold: comparisons are counted, and no clock is asked, so
// that the answer is the same on every machine.
#pragma once

#include "assay/base/cancel.h"

#include <cstdint>
#include <limits>

namespace assay {

class Effort {
 public:
  explicit Effort(int64_t most) : left_(most) {}
  // Where it was asked for, it takes what it takes.
  static Effort without_end() { return Effort(std::numeric_limits<int64_t>::max()); }

  // To be asked before so many comparisons of sketches, or what takes as long. False: what was found so far
  // is to be dropped, since no more may be done, or since the program was told to end.
  bool allows(int64_t comparisons) {
    is_spent_ |= comparisons > left_;
    if (!is_spent_) left_ -= comparisons;
    return !is_spent_ && !cancelled();
  }
  bool is_spent() const { return is_spent_; }

 private:
  int64_t left_;
  bool is_spent_ = false;
};

}  // namespace assay

// Which operator was the first to make a NaN or an infinity of finite numbers. The check of ATB itself takes
// bf16 for f16, and never sees a NaN.
#pragma once

#include "assay/tensor/dtype.h"

#include <optional>
#include <set>
#include <string>
#include <string_view>

namespace assay::probe {

class OverflowWatch {
 public:
  // A tensor as it was handed over. Of an output that is not finite, though everything its operator was given
  // was, and that none of the operators inside it made: the name, as ATB would report it.
  std::optional<std::string> see(std::string_view path, bool is_input, DType dtype, Bytes bytes);

  // Inputs that were not finite before any operator made such numbers: they came from outside, or were made
  // of what did.
  struct Outside {
    int64_t count = 0;
    std::string first = {};  // its path
  };
  const Outside& outside() const { return outside_; }
  void forget_outside() { outside_ = {}; }  // in a child process: its parent tells of them

 private:
  Outside outside_;
  bool has_reported_ = false;
  std::string round_;             // of what is remembered: "0_4001/3"
  std::set<std::string> spoilt_;  // folders of operators that were given something not finite
  std::set<std::string> reported_;
};

// "0_77/3/0_Layer/1_Linear/0_MatMulKernel" -> "Linear_0_1:MatMulKernel"; of an operation "Linear_0_1".
std::string overflow_name(std::string_view folder);

}  // namespace assay::probe

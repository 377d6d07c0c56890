// Single elements of an operand, in any order.
#pragma once

#include "assay/tensor/operand.h"

#include <memory>

namespace assay::detail {

// Small tensors are held; of larger ones only those that lie in a file as they are can be read in any order,
// since all others have to be gathered or inflated anew for every element.
class Values {
 public:
  // Nothing where it costs too much.
  static Result<std::unique_ptr<Values>> open(const Operand& operand);
  Result<double> at(int64_t element);

 private:
  explicit Values(const Operand& operand) : operand_(operand) {}
  const Operand& operand_;  // outlives this
  Scratch scratch_;
  std::vector<std::byte> held_;
  bool is_held_ = false;
};

}  // namespace assay::detail

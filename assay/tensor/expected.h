// What a tensor should hold, and how far honest arithmetic may be off at each element.
#pragma once

#include "assay/tensor/operand.h"

#include <functional>
#include <string>
#include <vector>

namespace assay {

// Values and what is allowed of the same elements, made when they are asked for: neither is ever held whole.
class BoundedBlocks {
 public:
  // `granule`: elements that are made together. Readers do best to ask for multiples of it.
  explicit BoundedBlocks(int64_t elements) : granule(elements) {}
  virtual ~BoundedBlocks() = default;
  BoundedBlocks(const BoundedBlocks&) = delete;
  BoundedBlocks& operator=(const BoundedBlocks&) = delete;

  struct Both {
    Block value, allowed;
  };
  // As Operand::block.
  virtual Result<Both> read(int64_t first, int64_t count, Scratch& scratch) const = 0;

  const int64_t granule;
};

struct Expected {
  DType dtype = DType::f32;  // that the tensor is written in
  // Of another type than `dtype`: as computed, to be rounded to `dtype` once more, which may cost half a
  // step. Of `dtype` itself: what it has to be, but for what is allowed.
  OperandPtr value;
  OperandPtr allowed = nullptr;  // f32, of the same shape: the error before that rounding; null: none
  OperandPtr known = nullptr;    // u8, of the same shape: 0 where nobody can tell; null: all of it is known
  // Where each of the two would make the other in vain. Null: they are read one by one.
  std::shared_ptr<const BoundedBlocks> together = nullptr;
  std::string note = {};      // what is not known, and why
  std::string computed = {};  // the operator and its parameters in short
  int64_t not_dumped = 0;     // further outputs of the operator that the dump lacks, told with the first
  bool is_partial = false;    // elements beyond those that should be written say nothing
  // The same of kernels that round elsewhere on the way. One kernel made all of the tensor, so one of these,
  // or what stands above, has to explain all of it. Each is made where it is asked for.
  std::vector<std::function<Result<Expected>()>> other_ways = {};

  bool rounds() const { return value->meta.dtype != dtype; }
};

// As an operator would write it: rounded to its type, whole numbers half to even. Where nobody can tell,
// what `mine` holds, which has as many elements.
OperandPtr as_written(const Expected& expected, const OperandPtr& mine);

}  // namespace assay

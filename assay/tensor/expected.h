// What a tensor should hold, and how far honest arithmetic may be off at each element.
#pragma once

#include "assay/tensor/operand.h"

#include <string>

namespace assay {

struct Expected {
  DType dtype = DType::f32;  // that the tensor is written in
  // Of another type than `dtype`: as computed, to be rounded to `dtype` once more, which may cost half a
  // step. Of `dtype` itself: what it has to be, but for what is allowed.
  OperandPtr value;
  OperandPtr allowed = nullptr;  // f32, of the same shape: the error before that rounding; null: none
  OperandPtr known = nullptr;    // u8, of the same shape: 0 where nobody can tell; null: all of it is known
  std::string note = {};         // what is not known, and why
  std::string computed = {};     // the operator and its parameters in short
  bool is_partial = false;       // elements beyond those that should be written say nothing

  bool rounds() const { return value->meta.dtype != dtype; }
};

// As an operator would write it: rounded to its type, whole numbers half to even. Where nobody can tell,
// what `mine` holds, which has as many elements.
OperandPtr as_written(const Expected& expected, const OperandPtr& mine);

}  // namespace assay

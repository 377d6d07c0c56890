// How operators hand on errors: what the relative errors of inputs become in an output, by what the operator
// does and by the sizes of the numbers. docs/rules.md has the derivations.
#pragma once

#include "assay/model/op_kind.h"
#include "assay/tensor/dtype.h"

#include <cstdint>
#include <span>
#include <string_view>

namespace assay {

// Of a tensor, as far as it was compared.
struct GivenError {
  double relative = 0;      // rel_l2
  double largest = 0;       // max_abs
  double rms = 0;           // of golden; 0: not known
  double count = 0;         // of elements
  double first_extent = 0;  // of its first dimension
  double batches = 1;       // product of the extents before the last two
  int32_t dimensions = 0;
  DType dtype = DType::f64;    // of mine
  bool is_estimate = false;    // it was not compared: what its operator may have made of its own inputs
  std::string_view name = {};  // of its row

  double norm() const;
};

struct Operation {
  OpKind kind = OpKind::unknown;
  OpTrait trait = OpTrait::none;
  bool is_backward = false;
};

// Of the output with this size, from all that the operator was given (of a backward call also what its
// forward call was given and gave); errors of different inputs are independent.
double inherited_error(const Operation& operation, std::span<const GivenError> given,
                       std::span<const GivenError> used, const GivenError& output);

// The same where nothing is known of the output.
double estimate_without_size(const Operation& operation, std::span<const GivenError> given);

// The same of single elements, where the operator hands them on one by one; 0: it does not.
double inherited_element(const Operation& operation, std::span<const GivenError> given,
                         const GivenError& output);

// What an operation of this kind rounds by itself, relative to its output, when results are kept in this
// type.
double own_error(const Operation& operation, std::span<const GivenError> given, const GivenError& output,
                 DType dtype);

}  // namespace assay

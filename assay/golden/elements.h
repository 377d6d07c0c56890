// Tensors as the bytes of their elements, for operators that move them and never compute: no NaN loses its
// payload and no i64 a digit.
#pragma once

#include "assay/golden/numbers.h"

namespace assay {

// Row-major.
struct Elements {
  TensorMeta meta;
  std::vector<std::byte> bytes;

  int64_t size() const { return size_of(meta.dtype); }  // bytes of one
  const std::byte* at(int64_t index) const { return bytes.data() + index * size(); }
  std::byte* at(int64_t index) { return bytes.data() + index * size(); }
};

// The i-th input in memory. An error where there is none, or where it takes too much memory.
Result<Elements> elements_of(const GoldenCall& call, size_t i);
// Zeros. An error where there is no such shape, or where they take too much memory.
Result<Elements> zero_elements(const GoldenCall& call, DType dtype, const Shape& shape);
OperandPtr operand_of(Elements elements);
Expected exactly(Elements elements);
// One value everywhere, which takes no memory.
Result<OperandPtr> constant(DType dtype, double value, const Shape& shape);

// An error where there are fewer than `least`, or more than `most`, inputs, or where one of them is missing.
Result<void> check_given(const GoldenCall& call, size_t least, size_t most);
// An error where input i has not `rank` dimensions.
Result<void> check_rank(const GoldenCall& call, size_t i, size_t rank);
// An error where the types of two inputs differ.
Result<void> check_same_type(const GoldenCall& call, size_t i, size_t j);

// Of a single element: some write it as [1], others as a scalar. As output k has it.
Shape single_shape(const GoldenCall& call, size_t k);

// Row-major, in elements. Precondition: the count fits.
std::vector<int64_t> strides_of(const Shape& shape);
// Extents of `shape` from dimension `first` up to `last`, multiplied. Precondition: the count fits.
int64_t extent_between(const Shape& shape, size_t first, size_t last);

bool is_whole_type(DType dtype);  // whole numbers or truths
// What is left of a sum in a type of whole numbers: the low bits.
int64_t wrapped(DType dtype, int64_t value);

// A tensor with runs of elements replaced, read block by block: memory does not grow with it.
struct Patch {
  int64_t at = 0;     // first element in the tensor
  int64_t from = 0;   // first element in the values
  int64_t count = 0;  // elements
};
// Where patches overlap, the later one counts. Precondition: all lie inside, and the types are equal.
OperandPtr patched(OperandPtr base, OperandPtr values, std::vector<Patch> patches);

}  // namespace assay

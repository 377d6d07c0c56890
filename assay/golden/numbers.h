// Tensors as numbers to compute with, and back. Golden operators compute in f64, whatever the type of their
// tensors; what a processor may do less exactly is in the error that they allow.
#pragma once

#include "assay/golden/golden.h"

#include <functional>
#include <memory>

namespace assay {

// Row-major.
struct Numbers {
  Shape shape;
  std::vector<double> values;

  int64_t count() const { return static_cast<int64_t>(values.size()); }
};

// Whole numbers stay whole: f64 would round those beyond 2^53.
struct Integers {
  Shape shape;
  std::vector<int64_t> values;

  int64_t count() const { return static_cast<int64_t>(values.size()); }
};

// ----- what an operator was given

// An error where there are fewer than `least`, or more than `most`, inputs.
Result<void> check_inputs(const GoldenCall& call, size_t least, size_t most);
// The i-th input. An error where there is none, where it is complex, or where it takes too much memory.
Result<Numbers> numbers_of(const GoldenCall& call, size_t i);
Result<Integers> integers_of(const GoldenCall& call, size_t i);  // of a tensor of whole numbers or truths
Result<Numbers> numbers_of(const Operand& data, int64_t memory);
inline DType dtype_of(const GoldenCall& call, size_t i) { return call.in[i]->meta.dtype; }
inline const Shape& shape_of(const GoldenCall& call, size_t i) { return call.in[i]->meta.shape; }
// An input that is there and has elements: optional ones are dumped empty.
bool has_input(const GoldenCall& call, size_t i);

// ----- what it should have given

// As computed, to be rounded to `dtype`. `allowed` is empty where the last rounding is all that may differ.
Expected expected(DType dtype, Numbers value, std::vector<float> allowed = {});
Expected expected(DType dtype, const Integers& value);
// Memory that is zero until it is written to, and costs nothing until then.
std::shared_ptr<std::byte[]> fresh_bytes(int64_t count);
// Row-major elements in it.
OperandPtr held(TensorMeta meta, std::shared_ptr<const std::byte[]> elements);
// The elements themselves, however they lie.
Expected exactly(OperandPtr value);

// ----- shapes

// The dimension that a number means, counted from the end where it is negative. An error beyond the shape.
Result<size_t> dimension(const Shape& shape, int64_t number, std::string_view param);
// As torch broadcasts; an error where they do not fit.
Result<Shape> broadcast_shape(const Shape& a, const Shape& b);
// The elements under a shape that theirs can be broadcast to.
Result<Numbers> broadcast(const Numbers& numbers, const Shape& shape);
Result<int64_t> count_of(const Shape& shape);  // an error where it does not fit, or an extent is negative

// ----- rounding

// Half of the distance between 1 and the next number: 2^-11 for f16. 0 for whole numbers.
double unit_roundoff(DType dtype);
// In place, to nearest even: what is rounded on the way, where an operator does so.
void round_to(DType dtype, std::span<double> values);
double rounded_to(DType dtype, double value);
// Half to even, whatever the mode of the processor.
double round_half_even(double value);
// The arithmetic that operators of this type compute with: f32 for it and all shorter types, else f64.
double unit_of_arithmetic(DType dtype);

// ----- threads

// Calls `work(first, last)` for ranges that cover 0 to `count`, on all cores where that is worth while: an
// item costs about `cost` operations. Each item belongs to one call, so the answer does not depend on
// threads.
void in_parallel(int64_t count, int64_t cost, const std::function<void(int64_t first, int64_t last)>& work);

}  // namespace assay

// Elements that take the place of others: Fill, Where, SetValue.
#include "assay/golden/elements.h"
#include "assay/golden/moves.h"
#include "assay/tensor/gather.h"

#include <algorithm>

namespace assay {
namespace {

// A tensor as it is read under a shape that it can be broadcast to.
Result<OperandPtr> spread_over(const OperandPtr& data, const Shape& shape) {
  ASSAY_TRY(const Shape common, broadcast_shape(data->meta.shape, shape));
  if (common != shape)
    return fail(ErrorKind::mismatch, "shape {} does not fit into {}", data->meta.shape.text(), shape.text());
  if (data->meta.shape == shape) return data;
  const std::vector<int64_t> strides = strides_of(data->meta.shape);
  const size_t missing = shape.dims.size() - strides.size();
  std::vector<int64_t> steps(shape.dims.size(), 0);
  for (size_t i = missing; i < steps.size(); ++i)
    if (data->meta.shape.dims[i - missing] != 1) steps[i] = strides[i - missing];
  return strided(data, shape, steps, 0);
}

// Chooses element by element, block by block: memory does not grow with the tensors.
class Chosen final : public Operand {
 public:
  Chosen(OperandPtr condition, OperandPtr yes, OperandPtr no)
      : Operand(yes->meta), condition_(std::move(condition)), yes_(std::move(yes)), no_(std::move(no)) {}

  Result<Block> block(int64_t first, int64_t count, Scratch& scratch) const override {
    std::vector<std::byte> chosen(static_cast<size_t>(count));
    {
      ASSAY_TRY(const Block truth, condition_->block(first, count, scratch.below(0)));
      std::vector<double> numbers(static_cast<size_t>(count));
      to_f64(truth.dtype, truth.data, count, numbers.data());
      std::ranges::transform(numbers, chosen.begin(), [](double x) { return std::byte{x != 0}; });
    }
    const int64_t size = size_of(meta.dtype);
    std::byte* const out = scratch.buffer(count * size);
    ASSAY_TRY_DO(no_->read(first, count, {out, static_cast<size_t>(count * size)}, scratch.below(1)));
    ASSAY_TRY(const Block yes, yes_->block(first, count, scratch.below(2)));
    for (int64_t i = 0; i < count; ++i)
      if (chosen[static_cast<size_t>(i)] != std::byte{0})
        std::copy_n(yes.data + i * size, size, out + i * size);
    return Block{meta.dtype, out, count};
  }

 private:
  OperandPtr condition_, yes_, no_;
};

Result<OperandPtr> chosen_by(const OperandPtr& condition, OperandPtr yes, OperandPtr no) {
  if (is_complex(condition->meta.dtype)) return fail(ErrorKind::mismatch, "a condition is complex");
  ASSAY_TRY(OperandPtr wide, spread_over(condition, yes->meta.shape));
  return std::make_shared<Chosen>(std::move(wide), std::move(yes), std::move(no));
}

}  // namespace

Result<GoldenOutputs> golden_fill(const GoldenCall& call) {
  ASSAY_TRY(const bool has_mask, call.params.flag({"withMask"}));
  ASSAY_TRY(const std::vector<double> values, call.params.reals({"value"}));
  if (values.empty()) return fail(ErrorKind::bad_argument, "the parameter value is empty");
  if (!has_mask) {
    ASSAY_TRY(const std::vector<int64_t> dims, call.params.integers({"outDim"}));
    ASSAY_TRY(OperandPtr filled, constant(DType::f16, values[0], Shape{dims}));
    return GoldenOutputs{exactly(std::move(filled))};
  }
  ASSAY_TRY_DO(check_given(call, 2, 2));
  if (is_complex(dtype_of(call, 0))) return fail(ErrorKind::mismatch, "a complex input is not filled");
  ASSAY_TRY(OperandPtr filled, constant(dtype_of(call, 0), values[0], shape_of(call, 0)));
  ASSAY_TRY(OperandPtr result, chosen_by(call.in[1], std::move(filled), call.in[0]));
  return GoldenOutputs{exactly(std::move(result))};
}

Result<GoldenOutputs> golden_where(const GoldenCall& call) {
  ASSAY_TRY_DO(check_given(call, 3, 3));
  ASSAY_TRY_DO(check_same_type(call, 1, 2));
  ASSAY_TRY(const Shape both, broadcast_shape(shape_of(call, 1), shape_of(call, 2)));
  ASSAY_TRY(const Shape shape, broadcast_shape(shape_of(call, 0), both));
  ASSAY_TRY(OperandPtr yes, spread_over(call.in[1], shape));
  ASSAY_TRY(OperandPtr no, spread_over(call.in[2], shape));
  ASSAY_TRY(OperandPtr result, chosen_by(call.in[0], std::move(yes), std::move(no)));
  return GoldenOutputs{exactly(std::move(result))};
}

Result<GoldenOutputs> golden_set_value(const GoldenCall& call) {
  ASSAY_TRY_DO(check_given(call, 2, 2));
  ASSAY_TRY(const std::vector<int64_t> starts, call.params.integers({"starts"}));
  ASSAY_TRY(const std::vector<int64_t> ends, call.params.integers({"ends"}));
  ASSAY_TRY(const std::vector<int64_t> steps, call.params.integers({"strides"}));
  ASSAY_TRY_DO(check_same_type(call, 0, 1));
  const Shape& shape = shape_of(call, 0);
  if (starts.size() != ends.size() || starts.size() != steps.size() || starts.size() > shape.dims.size())
    return fail(ErrorKind::mismatch, "{} starts, {} ends and {} strides do not fit the shape {}",
                starts.size(), ends.size(), steps.size(), shape.text());
  if (std::ranges::any_of(steps, [](int64_t step) { return step != 1; }))
    return fail(ErrorKind::bad_argument, "the parameter strides holds something else than 1");
  Shape box = shape;
  for (size_t i = 0; i < starts.size(); ++i) {
    if (starts[i] < 0 || ends[i] < starts[i] || ends[i] > shape.dims[i])
      return fail(ErrorKind::mismatch, "{} to {} lies outside dimension {} of shape {}", starts[i], ends[i],
                  i, shape.text());
    box.dims[i] = ends[i] - starts[i];
  }
  if (shape_of(call, 1) != box)
    return fail(ErrorKind::mismatch, "a tensor of shape {} does not fill the box {}",
                shape_of(call, 1).text(), box.text());

  // A patch for every row of the box.
  const std::vector<int64_t> strides = strides_of(shape);
  const int64_t row = box.dims.empty() ? 1 : box.dims.back();
  const int64_t rows = box.count() == 0 ? 0 : box.count() / row;
  if (rows > call.memory / 2 / static_cast<int64_t>(sizeof(Patch)))
    return fail(ErrorKind::limit, "a box of shape {} needs more memory than --memory allows", box.text());
  std::vector<Patch> patches;
  std::vector<int64_t> at(box.dims.size(), 0);
  for (int64_t i = 0; i < rows; ++i) {
    Patch patch{0, i * row, row};
    for (size_t d = 0; d < at.size(); ++d)
      patch.at += (at[d] + (d < starts.size() ? starts[d] : 0)) * strides[d];
    patches.push_back(patch);
    for (size_t d = at.size(); d-- > 1;) {  // counts all dimensions but the last
      if (++at[d - 1] < box.dims[d - 1]) break;
      at[d - 1] = 0;
    }
  }
  return GoldenOutputs{exactly(patched(call.in[0], call.in[1], std::move(patches))), exactly(call.in[1])};
}

}  // namespace assay

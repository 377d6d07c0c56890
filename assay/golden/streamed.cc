#include "assay/golden/streamed.h"

#include "assay/base/checked.h"

#include <algorithm>
#include <cmath>

namespace assay {
namespace {

// Numbers in memory that were made here.
template <class T>
class HeldNumbers final : public Operand {
 public:
  HeldNumbers(DType dtype, const Shape& shape, std::unique_ptr<T[]> numbers)
      : Operand(TensorMeta{dtype, shape}), numbers_(std::move(numbers)) {}

  Result<Block> block(int64_t first, int64_t count, Scratch& /*scratch*/) const override {
    return Block{meta.dtype, reinterpret_cast<const std::byte*>(numbers_.get() + first), count};
  }

 private:
  std::unique_ptr<T[]> numbers_;
};

bool is_short(DType dtype) { return dtype == DType::f16 || dtype == DType::bf16; }

}  // namespace

Result<Sheet> Sheet::of(DType dtype, const Shape& shape, int64_t memory) {
  ASSAY_TRY(const int64_t count, count_of(shape));
  const auto bytes = checked_multiply(count, is_short(dtype) ? 8 : 12);
  if (!bytes || *bytes > memory)
    return fail(ErrorKind::limit, "an output of shape {} needs more than the {} MiB that --memory allows",
                shape.text(), memory >> 20);
  Sheet sheet;
  sheet.dtype_ = dtype;
  sheet.shape_ = shape;
  const auto size = static_cast<size_t>(count);
  // Not set to zero: the threads that write the pages are the first to touch them.
  sheet.allowed_ = std::make_unique_for_overwrite<float[]>(size);
  if (is_short(dtype))
    sheet.short_ = std::make_unique_for_overwrite<float[]>(size);
  else
    sheet.wide_ = std::make_unique_for_overwrite<double[]>(size);
  return sheet;
}

void Sheet::put(int64_t first, int64_t count, const double* values, const double* errors) {
  float* const allowed = allowed_.get() + first;
  if (short_ != nullptr) {
    const double u = unit_roundoff(DType::f32);
    float* const to = short_.get() + first;
    for (int64_t i = 0; i < count; ++i) to[i] = static_cast<float>(values[i]);
    for (int64_t i = 0; i < count; ++i) allowed[i] = allowance(errors[i] + u * std::abs(values[i]));
    return;
  }
  std::copy_n(values, count, wide_.get() + first);
  // f64 is not rounded once more, and our own arithmetic is no better than that of the operator.
  const double own = dtype_ == DType::f64 ? 8 * unit_roundoff(DType::f64) : 0, more = own > 0 ? 4 : 1;
  for (int64_t i = 0; i < count; ++i) allowed[i] = allowance(more * errors[i] + own * std::abs(values[i]));
}

Expected Sheet::finish() && {
  Expected out;
  out.dtype = dtype_;
  out.allowed = std::make_shared<HeldNumbers<float>>(DType::f32, shape_, std::move(allowed_));
  if (short_ != nullptr)
    out.value = std::make_shared<HeldNumbers<float>>(DType::f32, shape_, std::move(short_));
  else
    out.value = std::make_shared<HeldNumbers<double>>(DType::f64, shape_, std::move(wide_));
  return out;
}

Result<const double*> PieceReader::read(int64_t first, int64_t count) {
  if (std::ssize(buffer_) < count) buffer_.resize(static_cast<size_t>(count));
  for (int64_t done = 0; done < count;) {
    const int64_t some = std::min(kBlockElements, count - done);
    ASSAY_TRY(const Block block, source_->block(first + done, some, scratch_));
    to_f64(block.dtype, block.data, some, buffer_.data() + done);
    done += some;
  }
  return buffer_.data();
}

Result<void> check_piece(int64_t elements, int64_t memory) {
  constexpr int64_t kBytesOfElement = 64;  // in f64, for as many threads as pieces of such a size are worth
  if (elements <= memory / kBytesOfElement) return {};
  return fail(ErrorKind::limit,
              "{} elements that belong together need more than the {} MiB that --memory allows", elements,
              memory >> 20);
}

void FirstError::set(Error error) {
  const std::lock_guard lock(mutex_);
  if (!error_) error_ = std::move(error);
}

Result<void> FirstError::outcome() const {
  const std::lock_guard lock(mutex_);
  if (error_) return tl::unexpected<Error>(*error_);
  return {};
}

}  // namespace assay

#include "assay/golden/bounded.h"

#include "assay/golden/kernels.h"
#include "assay/tensor/dense.h"

#include <algorithm>
#include <cmath>
#include <cstring>

namespace assay {
Result<BoundedNumbers> zeros_with_bounds(const Shape& shape) {
  ASSAY_TRY(const int64_t count, count_of(shape));
  return BoundedNumbers{{shape, std::vector<double>(static_cast<size_t>(count))},
                        std::vector<float>(static_cast<size_t>(count))};
}

Expected expected(DType dtype, BoundedNumbers value) {
  if (dtype == DType::f64) {
    // Nobody rounds once more, and our own arithmetic is no better than that of the operator.
    value.allowed.resize(value.value.values.size());
    for (int64_t i = 0; i < value.value.count(); ++i)
      value.allowed[static_cast<size_t>(i)] =
          allowance(4 * value.error(i) +
                    8 * unit_roundoff(DType::f64) * std::abs(value.value.values[static_cast<size_t>(i)]));
  }
  return expected(dtype, std::move(value.value), std::move(value.allowed));
}

Expected expected_int8(BoundedNumbers value) {
  std::vector<uint8_t> is_known(value.value.values.size(), 1);
  for (size_t i = 0; i < is_known.size(); ++i) {
    double& each = value.value.values[i];
    if (std::isnan(each)) {
      is_known[i] = 0;
      each = 0;
    }
    each = std::clamp(each, -128.0, 127.0);
    // In the middle between two whole numbers, and known to be: the even one.
    if (value.error(static_cast<int64_t>(i)) <= double{FLT_MIN}) each = round_half_even(each);
  }
  Expected out = expected(DType::i8, std::move(value.value), std::move(value.allowed));
  leave_out(out, is_known, "not a number before it became int8");
  return out;
}

Expected exactly_rounded(DType dtype, const Numbers& value) {
  std::vector<std::byte> bytes(value.values.size() * static_cast<size_t>(size_of(dtype)));
  from_f64(dtype, value.values.data(), value.count(), bytes.data());
  return exactly(dense_in_memory(std::move(bytes), TensorMeta{dtype, value.shape}));
}

void leave_out(Expected& output, const std::vector<uint8_t>& is_known, std::string why) {
  if (std::ranges::find(is_known, uint8_t{0}) == is_known.end()) return;
  std::vector<std::byte> bytes(is_known.size());
  std::memcpy(bytes.data(), is_known.data(), bytes.size());
  output.known = dense_in_memory(std::move(bytes), TensorMeta{DType::u8, output.value->meta.shape});
  output.note = std::move(why);
}

Result<void> check_real(const GoldenCall& call, size_t i) {
  if (i >= call.in.size() || call.in[i] == nullptr)
    return fail(ErrorKind::mismatch, "{} has no input {}", call.type, i);
  if (is_real(dtype_of(call, i))) return {};
  return fail(ErrorKind::mismatch, "input {} of {} is {} where floating point is wanted", i, call.type,
              name(dtype_of(call, i)));
}

Result<void> check_same_type(const GoldenCall& call, size_t i) {
  if (i < call.in.size() && call.in[i] != nullptr && dtype_of(call, i) == dtype_of(call, 0)) return {};
  if (i >= call.in.size() || call.in[i] == nullptr)
    return fail(ErrorKind::mismatch, "{} has no input {}", call.type, i);
  return fail(ErrorKind::mismatch, "inputs 0 and {} of {} are {} and {}, which must be the same", i,
              call.type, name(dtype_of(call, 0)), name(dtype_of(call, i)));
}

double sum_of(const double* x, int64_t n) { return kernel::sum_of(x, n); }

double sum_of_products(const double* x, const double* y, int64_t n) {
  return kernel::sum_of_products(x, y, n);
}

}  // namespace assay

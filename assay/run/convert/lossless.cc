#include "assay/run/convert/lossless.h"

#include "assay/base/cancel.h"
#include "assay/tensor/cast.h"
#include "assay/tensor/extremes.h"

#include <algorithm>
#include <cmath>

namespace assay {
namespace {

bool is_whole(DTypeKind kind) { return kind == DTypeKind::integer || kind == DTypeKind::natural; }

// Whole numbers up to this size are exact in a type, and on the way to it, which leads through f64. Beyond it
// there and back may give the same number twice: both ends are clipped.
double largest_exact(DType to) {
  constexpr int kBitsOfF64 = 53;
  return std::ldexp(1.0, is_real(to) ? info(to).mantissa_bits + 1 : kBitsOfF64);
}

Result<bool> all_at_most(const Operand& data, double bound) {
  ASSAY_TRY(const Extremes extremes, gather_extremes(data));
  if (extremes.is_empty) return true;
  double least = 0, most = 0;
  to_f64(extremes.dtype, extremes.min.data(), 1, &least);
  to_f64(extremes.dtype, extremes.max.data(), 1, &most);
  return least >= -bound && most <= bound;
}

Result<bool> same_bits(const Operand& a, const Operand& b) {
  Scratch scratch_a, scratch_b;
  const int64_t total = a.meta.shape.count();
  for (int64_t first = 0; first < total; first += kBlockElements) {
    ASSAY_TRY_DO(check_cancelled());
    const int64_t count = std::min(kBlockElements, total - first);
    ASSAY_TRY(const Block one, a.block(first, count, scratch_a));
    ASSAY_TRY(const Block other, b.block(first, count, scratch_b));
    if (!std::ranges::equal(one.bytes(), other.bytes())) return false;
  }
  return true;
}

}  // namespace

Result<bool> is_lossless(const OperandPtr& data, DType to) {
  const DType from = data->meta.dtype;
  if (from == to) return true;
  const DTypeKind kind = info(from).kind, wanted = info(to).kind;
  if (kind == DTypeKind::complex ? wanted != kind : wanted == DTypeKind::complex) return false;
  if (kind == DTypeKind::real && wanted != DTypeKind::real) return false;
  if (is_whole(kind)) {
    ASSAY_TRY(const bool are_small, all_at_most(*data, largest_exact(to)));
    if (!are_small) return false;
  }
  ASSAY_TRY(OperandPtr there, cast(data, to));
  ASSAY_TRY(const OperandPtr back, cast(std::move(there), from));
  return same_bits(*data, *back);
}

}  // namespace assay

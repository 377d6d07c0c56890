#include "assay/metric/detail/values.h"

#include "assay/base/cancel.h"

namespace assay::detail {
namespace {

constexpr int64_t kMostHeld = int64_t{16} << 20;  // bytes: a band, which others hold too
// Some thousand elements are asked for: reading them one by one costs what reading so many bytes does.
constexpr int64_t kWorthHolding = int64_t{1} << 20;

}  // namespace

Result<std::unique_ptr<Values>> Values::open(const Operand& operand) {
  if (is_complex(operand.meta.dtype)) return std::unique_ptr<Values>();
  std::unique_ptr<Values> values(new Values(operand));
  const bool has_place = operand.place().has_value();
  if (operand.meta.byte_size() <= (has_place ? kWorthHolding : kMostHeld)) {
    ASSAY_TRY(values->held_, read_whole(operand, kMostHeld));
    values->is_held_ = true;
  } else if (!has_place) {
    return std::unique_ptr<Values>();
  }
  return values;
}

Result<double> Values::at(int64_t element) {
  const DType dtype = operand_.meta.dtype;
  double value = 0;
  if (is_held_) {
    to_f64(dtype, held_.data() + element * size_of(dtype), 1, &value);
    return value;
  }
  ASSAY_TRY_DO(check_cancelled());
  ASSAY_TRY(const Block block, operand_.block(element, 1, scratch_));
  to_f64(dtype, block.data, 1, &value);
  return value;
}

}  // namespace assay::detail

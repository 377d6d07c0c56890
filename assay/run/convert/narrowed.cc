#include "assay/run/convert/narrowed.h"

#include <algorithm>
#include <cmath>
#include <vector>

namespace assay {
namespace {

constexpr int64_t kAtOnce = 4096;

bool is_infinite(double value) { return !std::isfinite(value); }

}  // namespace

Result<void> Narrowed::look(const Block& block, int64_t first) const {
  std::vector<double> values(kAtOnce), before(kAtOnce);
  Scratch scratch;
  for (int64_t at = 0; at < block.count && !has_overflowed_; at += kAtOnce) {
    const int64_t count = std::min(kAtOnce, block.count - at);
    to_f64(block.dtype, block.data + at * size_of(block.dtype), count, values.data());
    if (std::none_of(values.begin(), values.begin() + count, is_infinite)) continue;
    ASSAY_TRY(const Block wide, wide_->block(first + at, count, scratch));
    to_f64(wide.dtype, wide.data, count, before.data());
    for (size_t i = 0; i < static_cast<size_t>(count); ++i)
      if (is_infinite(values[i]) && std::isfinite(before[i])) has_overflowed_ = true;
  }
  return {};
}

Result<Block> Narrowed::block(int64_t first, int64_t count, Scratch& scratch) const {
  ASSAY_TRY(const Block block, narrow_->block(first, count, scratch));
  if (!has_overflowed_) ASSAY_TRY_DO(look(block, first));
  return block;
}

}  // namespace assay

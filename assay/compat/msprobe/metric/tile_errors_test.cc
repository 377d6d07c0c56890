#include "assay/compat/msprobe/metric/tile_errors.h"

#include "assay/metric/tile_kernels.h"
#include "assay/metric/tile_test_tools.h"

namespace assay::tile {
namespace {

using testing::append, testing::Sample;

std::vector<unsigned char> all_errors(const Sample& s, size_t shift) {
  std::vector<unsigned char> out;
  const float* a = s.a.data() + shift;
  const float* b = s.b.data() + shift;
  const auto n = static_cast<int64_t>(s.a.size() - shift);
  for (const DType type : {DType::f16, DType::f32}) {
    // The pass in f16 wants values that f16 has.
    std::vector<float> half_a(a, a + n), half_b(b, b + n);
    for (auto* side : {&half_a, &half_b})
      for (float& x : *side)
        if (type == DType::f16) x = f16_to_f32(f32_to_f16(std::clamp(x, -6e4f, 6e4f)));
    for (const double add : {0.0, 0x1p-23, 0x1p-10})
      for (const DType sum_type : {DType::f16, type}) {
        const MsprobeErrors errors =
            msprobe_errors(half_a.data(), half_b.data(), n, {type, sum_type, add, add});
        append(out, std::isnan(errors.max) ? -1.0 : errors.max);
        append(out, errors.under_1e3);
        append(out, errors.under_5e3);
      }
  }
  for (const DType sum_type : {DType::f16, DType::f32, DType::f64})
    append(out, msprobe_errors(s.wide_a.data() + shift, s.wide_b.data() + shift, n,
                               {DType::f64, sum_type, 0x1p-23, 0x1p-52}));
  return out;
}

TEST(MsprobeTile, EveryTargetGivesTheSameBits) {
  testing::expect_same_bits_from_every_target(kTile, all_errors);
}

}  // namespace
}  // namespace assay::tile

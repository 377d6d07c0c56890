#include "assay/golden/quantized.h"

#include "assay/golden/golden_test_tools.h"

namespace assay {
namespace {

TEST(ExpectedInt8, TakesTheEvenOneInTheMiddle) {
  const Expected out = expected_int8({{Shape{{4}}, {100.5, 101.5, -0.5, 100.5}}, {FLT_MIN, 0, 0, 1e-6F}});
  const auto numbers = numbers_of(*out.value, 1 << 20);
  ASSERT_TRUE(numbers);
  EXPECT_THAT(numbers->values, testing::ElementsAre(100, 102, 0, 100.5));  // of the last it cannot be told
}

// Of a row between 3 ± 1/64 and 3.25 ± 1/64, in which a third element is known.
double offset_of(double low, double high) { return -(high + low) / 2 * 255 / (high - low); }
double steps_of(double x, double low, double high) { return 255 * x / (high - low) + offset_of(low, high); }

TEST(QuantizedByRow, AllowsWhatExtremesMayBeOff) {
  constexpr double kOff = 1.0 / 64;
  const auto outputs =
      quantized_by_row({{Shape{{1, 3}}, {3, 3.1, 3.25}}, {float{kOff}, 0, float{kOff}}}, true, {});
  ASSERT_TRUE(outputs);
  ASSERT_EQ(outputs->size(), 3U);
  double of_offset = 0, of_value = 0;
  for (double low = 3 - kOff; low <= 3 + kOff; low += kOff / 16)
    for (double high = 3.25 - kOff; high <= 3.25 + kOff; high += kOff / 16) {
      of_offset = std::max(of_offset, std::abs(offset_of(low, high) - offset_of(3, 3.25)));
      of_value = std::max(of_value, std::abs(steps_of(3.1, low, high) - steps_of(3.1, 3, 3.25)));
    }
  const double allowed_offset = allowed_of((*outputs)[2])[0], allowed_value = allowed_of((*outputs)[0])[1];
  EXPECT_GE(allowed_offset, of_offset);
  EXPECT_LE(allowed_offset, 1.01 * of_offset);
  EXPECT_GE(allowed_value, of_value);
  EXPECT_LE(allowed_value, 1.01 * of_value);
}

TEST(QuantizedByRow, LeavesOutRowsThatMayBeAllEqual) {
  const auto outputs = quantized_by_row({{Shape{{1, 2}}, {3, 3.01}}, {0.01F, 0.01F}}, true, {});
  ASSERT_TRUE(outputs);
  EXPECT_NE((*outputs)[0].known, nullptr);
  EXPECT_EQ((*outputs)[1].known, nullptr);  // the scale is next to 0, which is known
  EXPECT_NE((*outputs)[2].known, nullptr);
}

}  // namespace
}  // namespace assay

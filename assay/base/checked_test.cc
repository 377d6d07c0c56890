#include "assay/base/checked.h"

#include <gtest/gtest.h>

#include <array>
#include <limits>

namespace assay {
namespace {

constexpr int64_t kMax = std::numeric_limits<int64_t>::max();
constexpr int64_t kMin = std::numeric_limits<int64_t>::min();

TEST(Checked, AddsUpToTheLimit) {
  EXPECT_EQ(checked_add(kMax - 1, 1), kMax);
  EXPECT_EQ(checked_add(kMax, 1), std::nullopt);
  EXPECT_EQ(checked_add(kMin, -1), std::nullopt);
}

TEST(Checked, MultipliesUpToTheLimit) {
  EXPECT_EQ(checked_multiply(kMax, 1), kMax);
  EXPECT_EQ(checked_multiply(int64_t{1} << 32, int64_t{1} << 31), std::nullopt);
  EXPECT_EQ(checked_multiply(kMin, -1), std::nullopt);
}

TEST(Checked, ProductOfDimensions) {
  EXPECT_EQ(checked_product({}), 1);
  EXPECT_EQ(checked_product(std::array<int64_t, 3>{2, 3, 4}), 24);
  EXPECT_EQ(checked_product(std::array<int64_t, 2>{5, 0}), 0);
  EXPECT_EQ(checked_product(std::array<int64_t, 2>{5, -1}), std::nullopt);
  EXPECT_EQ(checked_product(std::array<int64_t, 2>{0, -1}), std::nullopt);
}

TEST(Checked, AZeroDoesNotHideAnOverflow) {
  EXPECT_EQ(checked_product(std::array<int64_t, 3>{0, kMax, 2}), std::nullopt);
  EXPECT_EQ(checked_product(std::array<int64_t, 3>{kMax, 2, 0}), std::nullopt);
}

}  // namespace
}  // namespace assay

#include "assay/run/compare/stated_parts.h"

#include <gtest/gtest.h>

#include <cmath>

namespace assay {
namespace {

Stated stated(double max, double min, double mean, double norm) {
  Stated made;
  made.max = max;
  made.min = min;
  made.mean = mean;
  made.norm = norm;
  return made;
}

// {1, 3} and {-4, 0, 1, 1}: together 1, 3, -4, 0, 1, 1.
TEST(JoinStated, IsWhatTheWholeWouldHave) {
  const Stated a = stated(3, 1, 2, std::sqrt(10.0)), b = stated(1, -4, -0.5, std::sqrt(18.0));
  const auto whole = join_stated({{&a, 2}, {&b, 4}});
  ASSERT_TRUE(whole);
  EXPECT_EQ(whole->max, Scalar(3.0));
  EXPECT_EQ(whole->min, Scalar(-4.0));
  EXPECT_DOUBLE_EQ(*number_of(whole->mean), 2.0 / 6);
  EXPECT_DOUBLE_EQ(*number_of(whole->norm), std::sqrt(28.0));
}

TEST(JoinStated, NeedsAllNumbers) {
  const Stated a = stated(3, 1, 2, 4);
  Stated b = a;
  b.norm = "N/A";
  EXPECT_FALSE(join_stated({{&a, 2}, {&b, 2}}));
  EXPECT_FALSE(join_stated({{&a, 2}, {nullptr, 2}}));
  EXPECT_FALSE(join_stated({{&a, 0}}));
  EXPECT_FALSE(join_stated({}));
}

TEST(JoinStated, KeepsNan) {
  const Stated a = stated(NAN, NAN, NAN, NAN), b = stated(1, 1, 1, 1);
  for (const auto& whole : {join_stated({{&a, 1}, {&b, 1}}), join_stated({{&b, 1}, {&a, 1}})}) {
    ASSERT_TRUE(whole);
    EXPECT_TRUE(std::isnan(*number_of(whole->max)));
    EXPECT_TRUE(std::isnan(*number_of(whole->mean)));
  }
}

}  // namespace
}  // namespace assay

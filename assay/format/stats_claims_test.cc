#include "assay/format/stats_claims.h"

#include <gmock/gmock.h>

#include <cmath>

namespace assay {
namespace {

using ::testing::HasSubstr;

Stats statistics(Value max, Value min, Value mean, Value norm, int64_t nans = 0, int64_t infs = 0) {
  Stats stats{.max = std::move(max),
              .min = std::move(min),
              .mean = std::move(mean),
              .norm = std::move(norm),
              .checksum = {}};
  stats.nonfinite.nans = nans;
  stats.nonfinite.infs = infs;
  stats.nonfinite.minus_infs = 0;
  return stats;
}

std::string contradiction(const Stats& stats, int64_t zeros, DType dtype = DType::f32,
                          std::vector<int64_t> dims = {4}) {
  return contradiction_of_statistics({dtype, Shape{std::move(dims)}}, stats, zeros);
}

// 0, 1, 2, 2
const Stats kFour = statistics(2.0, 0.0, 1.25, 3.0);

TEST(StatsClaims, OfATensorThereAreNone) {
  EXPECT_EQ(contradiction(kFour, 1), "");
  EXPECT_EQ(contradiction(kFour, -1), "");  // earlier files count no zeros
  EXPECT_EQ(contradiction(statistics(0.0, 0.0, 0.0, 0.0), 4), "");
  EXPECT_EQ(contradiction(statistics(-3.0, -3.0, -3.0, 6.0), 0), "");
  EXPECT_EQ(contradiction(statistics(Value(), Value(), Value(), Value()), 0, DType::f32, {0}), "");
  EXPECT_EQ(contradiction(statistics(true, false, 0.5, std::sqrt(2.0)), 2, DType::boolean), "");
  EXPECT_EQ(
      contradiction(statistics(int64_t{127}, int64_t{-128}, -0.25, std::hypot(127.0, 128.0)), 2, DType::i8),
      "");
  EXPECT_EQ(contradiction(statistics(Value(), Value(), Value(), 2.0), 7, DType::c64), "");
  // Squares of the smallest numbers are 0 in f64, those of the largest infinite.
  EXPECT_EQ(contradiction(statistics(1e-200, 1e-200, 1e-200, 0.0), 0, DType::f64), "");
  EXPECT_EQ(contradiction(statistics(1e200, 0.0, 5e199, INFINITY), 2, DType::f64), "");
}

TEST(StatsClaims, ZerosLie) {
  EXPECT_THAT(contradiction(kFour, 0), HasSubstr("an element of it is 0, and it counts no zeros"));
  EXPECT_THAT(contradiction(kFour, 5), HasSubstr("more than its 4 elements"));
  EXPECT_THAT(contradiction(kFour, 4), HasSubstr("4 of 4 elements are zeros"));
  EXPECT_THAT(contradiction(kFour, 3), HasSubstr("its mean 1.25"));
  EXPECT_THAT(contradiction(statistics(2.0, 1.0, 1.5, std::sqrt(10.0)), 1),
              HasSubstr("outside of its elements"));
  EXPECT_THAT(contradiction(statistics(0.0, 0.0, 0.0, 0.0), 3), HasSubstr("3 of 4 elements are zeros"));
  EXPECT_THAT(contradiction(statistics(true, false, 0.5, std::sqrt(2.0)), 1, DType::boolean),
              HasSubstr("its norm"));
  EXPECT_THAT(contradiction(statistics(true, false, 0.5, std::sqrt(2.0)), 3, DType::boolean),
              HasSubstr("its mean"));
  EXPECT_THAT(contradiction(statistics(Value(), Value(), Value(), 2.0), 8, DType::c64), HasSubstr("norm"));
}

TEST(StatsClaims, NumbersLie) {
  EXPECT_THAT(contradiction(statistics(0.0, 2.0, 1.25, 3.0), 1), HasSubstr("is below its smallest"));
  EXPECT_THAT(contradiction(statistics(2.0, 0.0, 2.25, 3.0), 1), HasSubstr("is above its largest"));
  EXPECT_THAT(contradiction(statistics(2.0, 0.0, -0.25, 3.0), 1), HasSubstr("is below its smallest"));
  EXPECT_THAT(contradiction(statistics(2.0, 0.0, 1.25, 1.9), 1), HasSubstr("its norm 1.9 is below"));
  EXPECT_THAT(contradiction(statistics(2.0, 0.0, 1.25, 4.1), 1), HasSubstr("its norm 4.1 is above"));
  EXPECT_THAT(contradiction(statistics(2.0, 0.0, 1.25, 2.5), 1), HasSubstr("whose mean is 1.25"));
  EXPECT_THAT(contradiction(statistics(2.0, 0.0, 1.25, 3.3), 1), HasSubstr("whose mean is 1.25"));
  EXPECT_THAT(contradiction(statistics(2.0, 0.0, 1.25, -3.0), 1), HasSubstr("its norm is -3"));
  EXPECT_THAT(contradiction(statistics(70000.0, 0.0, 17500.0, 70000.0), 3, DType::f16),
              HasSubstr("f16 ends at"));
  EXPECT_THAT(contradiction(statistics(int64_t{300}, int64_t{0}, 75.0, 300.0), 3, DType::u8),
              HasSubstr("u8 ends at"));
  EXPECT_THAT(contradiction(statistics(1.5, 0.0, 0.375, 1.5), 3, DType::i32),
              HasSubstr("an element of it is 1.5"));
  EXPECT_THAT(contradiction(statistics(true, false, 0.5, std::sqrt(2.0)), 2, DType::u8),
              HasSubstr("truth values"));
  EXPECT_THAT(contradiction(kFour, 0, DType::f32, {0}), HasSubstr("without elements"));
}

TEST(StatsClaims, WhatIsNotFiniteLies) {
  EXPECT_THAT(contradiction(statistics(2.0, 0.0, 1.25, 3.0, 1), 1), HasSubstr("beside 1 NaN"));
  EXPECT_THAT(contradiction(statistics(NAN, NAN, NAN, NAN), 1), HasSubstr("NaN, and it counts none"));
  EXPECT_THAT(contradiction(statistics(INFINITY, 0.0, INFINITY, INFINITY), 1), HasSubstr("an infinity"));
  EXPECT_THAT(contradiction(statistics(2.0, 0.0, 1.25, 3.0, 0, 1), 1), HasSubstr("beside infinities"));
  EXPECT_THAT(contradiction(statistics(int64_t{2}, int64_t{0}, 1.25, 3.0, 1), 1, DType::i32),
              HasSubstr("holds neither"));
  Stats some = statistics(NAN, NAN, NAN, NAN, 1);
  some.nonfinite.max = 2.0;
  some.nonfinite.min = 1.0;
  some.nonfinite.mean = 4.0 / 3;
  some.nonfinite.norm = std::sqrt(6.0);
  EXPECT_EQ(contradiction(some, 0), "");
  EXPECT_THAT(contradiction(some, 1), HasSubstr("outside of its elements"));
  some.nonfinite.mean = 3.0;
  EXPECT_THAT(contradiction(some, 0), HasSubstr("is above its largest"));
  Stats plus = statistics(INFINITY, 1.0, INFINITY, INFINITY, 0, 2);
  plus.nonfinite.max = 2.0;
  plus.nonfinite.min = 1.0;
  EXPECT_EQ(contradiction(plus, 0), "");
  plus.nonfinite.minus_infs = 1;
  EXPECT_THAT(contradiction(plus, 0), HasSubstr("its extremes are not those"));
}

}  // namespace
}  // namespace assay

#include "assay/model/number_range.h"

#include <gtest/gtest.h>

#include <cmath>

namespace assay {
namespace {

const TensorMeta kHalf{DType::f16, Shape{{4}}};

Stated statistics(Scalar max, Scalar min, Scalar mean, Scalar norm) {
  Stated stated;
  stated.max = max;
  stated.min = min;
  stated.mean = mean;
  stated.norm = norm;
  return stated;
}

TEST(StatedRange, OfFiniteEndsIsFinite) {
  const auto range = stated_range(statistics(4.0, -3.0, 1.0, 5.5), &kHalf);
  ASSERT_TRUE(range);
  EXPECT_TRUE(range->is_finite());
  EXPECT_TRUE(range->is_stated);
  EXPECT_EQ(range->max, 4);
  EXPECT_EQ(range->near_max, 0);  // the largest is far away: none of them is near
  EXPECT_EQ(range->subnormal, NumberRange::kNotKnown);
}

TEST(StatedRange, CloseToTheEndDoesNotTellHowMany) {
  const auto range = stated_range(statistics(60000.0, -3.0, 1.0, 60000.0), &kHalf);
  ASSERT_TRUE(range);
  EXPECT_EQ(range->near_max, NumberRange::kNotKnown);
  EXPECT_NEAR(range->of_type_max(), 60000.0 / 65504, 1e-12);
}

// ATB's max and min pass over NaN; its mean and norm do not.
TEST(StatedRange, NanOfAMeanIsOneOfAnElement) {
  const auto range = stated_range(statistics("2.000000", "2.000000", "nan", "-nan"), &kHalf);
  ASSERT_TRUE(range);
  EXPECT_NE(range->nans, 0);
  EXPECT_EQ(range->infs(), 0);
  EXPECT_EQ(nonfinite_text(*range), "NaN");
}

TEST(StatedRange, MeanOfBothInfinitiesIsNoNan) {
  const auto range = stated_range(statistics(HUGE_VAL, -HUGE_VAL, std::nan(""), HUGE_VAL), &kHalf);
  ASSERT_TRUE(range);
  EXPECT_EQ(range->nans, 0);
  EXPECT_EQ(nonfinite_text(*range), "Inf, -Inf");
}

// The norm of an f16 tensor, kept in f16, overflows long before its elements do.
TEST(StatedRange, NormThatOverflowedSaysNothingOfElements) {
  const auto range = stated_range(statistics(3000.0, -3000.0, 0.0, HUGE_VAL), &kHalf);
  ASSERT_TRUE(range);
  EXPECT_TRUE(range->is_finite());
}

TEST(StatedRange, WithoutEndsIsNotKnown) {
  EXPECT_FALSE(stated_range(statistics(Scalar(), Scalar(), Scalar(), Scalar()), &kHalf));
  EXPECT_FALSE(stated_range(statistics("N/A", "N/A", "N/A", "N/A"), &kHalf));
  EXPECT_FALSE(stated_range(statistics(4.0, Scalar(), Scalar(), Scalar()), &kHalf));
}

// ATB's max and min pass over NaN: of a type that has it they do not tell, of whole numbers they do.
TEST(StatedRange, EndsAloneDoNotTellWhereThereMayBeNan) {
  const TensorMeta whole{DType::i32, Shape{{4}}};
  EXPECT_FALSE(stated_range(statistics(4.0, 1.0, Scalar(), Scalar()), &kHalf));
  EXPECT_FALSE(stated_range(statistics(4.0, 1.0, "N/A", "N/A"), nullptr));
  EXPECT_TRUE(stated_range(statistics(4.0, 1.0, 2.0, Scalar()), &kHalf));
  EXPECT_TRUE(stated_range(statistics(4.0, 1.0, Scalar(), Scalar()), &whole));
}

TEST(StatedRange, CountsWin) {
  Nonfinite counts;
  counts.nans = 1;
  counts.infs = 3;
  counts.minus_infs = 2;
  Stated stated = statistics(HUGE_VAL, -HUGE_VAL, std::nan(""), std::nan(""));
  stated.nonfinite = &counts;
  const auto range = stated_range(stated, &kHalf);
  ASSERT_TRUE(range);
  EXPECT_EQ(nonfinite_text(*range), "1 NaN, 1 Inf, 2 -Inf");
}

// Of NaN alone, ATB writes the ends of the type the wrong way round.
TEST(StatedRange, EndsTheWrongWayRoundAreNone) {
  const auto range = stated_range(statistics(-3.4e38, 3.4e38, "nan", "nan"), nullptr);
  ASSERT_TRUE(range);
  EXPECT_TRUE(std::isnan(range->max));
  EXPECT_NE(range->nans, 0);
}

TEST(ImpossibleStatistics, AreToldWithTheirNumbers) {
  EXPECT_EQ(impossible_statistics(statistics(1.0, 3.0, 2.0, 4.0), &kHalf),
            "its largest element 1 is below its smallest 3");
  EXPECT_EQ(impossible_statistics(statistics(1e6, 1.0, 2.0, 2e6), &kHalf),
            "its largest element 1000000 is beyond 65504, the largest of f16");
  EXPECT_EQ(impossible_statistics(statistics(1.0, -50.0, 2.0, 4.0), nullptr),
            "its norm 4 is below its largest element 50");
}

TEST(ImpossibleStatistics, OfMeansAndNorms) {
  const TensorMeta single{DType::f32, Shape{{24}}};
  EXPECT_EQ(impossible_statistics(statistics(1.0, -1.0, 5.0, 3.0), &single),
            "its mean 5 is above its largest element 1");
  EXPECT_EQ(impossible_statistics(statistics(1.0, -1.0, -5.0, 3.0), &single),
            "its mean -5 is below its smallest element -1");
  EXPECT_EQ(impossible_statistics(statistics(1.0, -1.0, 0.0, 1e6), &single),
            "its norm 1000000 is above 4.89898299, that of 24 elements as large as its largest");
  EXPECT_EQ(impossible_statistics(statistics(1.0, 1.0, 1.0, std::sqrt(24.0)), &single), "");
}

TEST(ImpossibleStatistics, TheNormOfOneElementHasItsSign) {
  const TensorMeta one{DType::f32, Shape{{}}}, two{DType::f32, Shape{{2}}};
  EXPECT_EQ(impossible_statistics(statistics(-3.0, -3.0, -3.0, -3.0), &one), "");
  EXPECT_EQ(impossible_statistics(statistics(-3.0, -3.0, -3.0, -2.0), &one),
            "its norm 2 is below its largest element 3");
  EXPECT_EQ(impossible_statistics(statistics(-3.0, -3.0, -3.0, -3.0), &two),
            "its norm -3 is below its largest element 3");
}

// f32 that are added one by one: from 2^24 ones on, another one is lost.
TEST(ImpossibleStatistics, LongSumsLoseTerms) {
  const TensorMeta many{DType::f32, Shape{{int64_t{1} << 26}}};
  EXPECT_EQ(impossible_statistics(statistics(1.0, 1.0, 0.25, 4096.0), &many), "");
  const TensorMeta few{DType::f32, Shape{{1 << 10}}};
  EXPECT_EQ(impossible_statistics(statistics(1.0, 1.0, 0.25, 32.0), &few),
            "its mean 0.25 is below its smallest element 1");
}

TEST(ImpossibleStatistics, WholeNumbersHaveNoFractions) {
  const TensorMeta whole{DType::i32, Shape{{24}}}, real{DType::f32, Shape{{24}}};
  EXPECT_EQ(impossible_statistics(statistics(2.5, -2.0, 0.5, 5.0), &whole),
            "its element 2.5 is no whole number, as those of i32 are");
  EXPECT_EQ(impossible_statistics(statistics(2.0, -2.5, 0.5, 5.0), &whole),
            "its element -2.5 is no whole number, as those of i32 are");
  EXPECT_EQ(impossible_statistics(statistics(2.0, -2.0, 0.5, 5.5), &whole), "");
  EXPECT_EQ(impossible_statistics(statistics(2.5, -2.5, 0.5, 5.5), &real), "");
}

TEST(ImpossibleStatistics, OfWholeNumbersBeyondTheType) {
  const TensorMeta bytes{DType::u8, Shape{{4}}}, masks{DType::boolean, Shape{{4}}};
  EXPECT_EQ(impossible_statistics(statistics(300.0, 0.0, 100.0, 500.0), &bytes),
            "its largest element 300 is beyond 255, the largest of u8");
  EXPECT_EQ(impossible_statistics(statistics(255.0, 0.0, 100.0, 500.0), &bytes), "");
  EXPECT_EQ(impossible_statistics(statistics(true, false, Scalar(), Scalar()), &masks), "");
}

TEST(ImpossibleStatistics, OwnSumsMayOverflowAndUnderflow) {
  const TensorMeta single{DType::f32, Shape{{4}}}, empty{DType::f32, Shape{{0}}};
  EXPECT_EQ(impossible_statistics(statistics(60000.0, 1.0, 2.0, INFINITY), &kHalf), "");
  EXPECT_EQ(impossible_statistics(statistics(1e-20, 1e-20, 1e-20, 0.0), &single), "");
  EXPECT_EQ(impossible_statistics(statistics(1e-3, 0.0, 1e-4, 0.0), &kHalf), "");
  EXPECT_EQ(impossible_statistics(statistics(3.0, 0.0, 0.0, 0.0), &empty), "");
  // ATB of NaN alone: the ends of the type, the wrong way round.
  EXPECT_EQ(impossible_statistics(statistics(-65504.0, 65504.0, NAN, NAN), &kHalf), "");
}

TEST(ImpossibleStatistics, PrintingRounds) {
  EXPECT_EQ(impossible_statistics(statistics(65536.0, 1.0, 2.0, 65530.0), &kHalf), "");
  Stated printed = statistics(0.000014, 0.0, 0.0, 0.000013);
  const TensorMeta single{DType::f32, Shape{{4}}};
  EXPECT_NE(impossible_statistics(printed, &single), "");
  printed.decimals = 6;
  EXPECT_EQ(impossible_statistics(printed, &single), "");
}

}  // namespace
}  // namespace assay

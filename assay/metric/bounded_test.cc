#include "assay/metric/bounded.h"

#include "assay/metric/metric_test_tools.h"

#include "assay/tensor/dense.h"

#include <gmock/gmock.h>

#include <cfloat>
#include <cmath>
#include <cstring>
#include <limits>

namespace assay {
namespace {

OperandPtr of(DType dtype, const std::vector<double>& values) {
  std::vector<std::byte> bytes(values.size() * static_cast<size_t>(size_of(dtype)));
  from_f64(dtype, values.data(), std::ssize(values), bytes.data());
  return dense_in_memory(std::move(bytes), TensorMeta{dtype, Shape{{std::ssize(values)}}});
}

Bounded gathered(const OperandPtr& mine, const Expected& expected) {
  BoundedScratch scratch;
  const auto found = gather_bounded(*mine, expected, 0, mine->meta.shape.count(), scratch);
  EXPECT_TRUE(found.has_value());
  return found.value_or(Bounded{});
}

Expected computed(DType dtype, const std::vector<double>& values, const std::vector<double>& allowed = {}) {
  Expected expected;
  expected.dtype = dtype;
  expected.value = of(DType::f64, values);
  if (!allowed.empty()) expected.allowed = of(DType::f32, allowed);
  return expected;
}

using testing::kInf;
using testing::kNan;

TEST(Bounded, AllowsTheLastRoundingAndNoMore) {
  // 1 + 2^-12 lies a quarter of a step of f16 above 1.
  const Expected expected = computed(DType::f16, {1 + 0x1p-12});
  const Bounded nearest = gathered(of(DType::f16, {1}), expected);
  EXPECT_EQ(nearest.beyond, 0);
  EXPECT_DOUBLE_EQ(nearest.worst, 0.5);  // of half a step
  const Bounded next = gathered(of(DType::f16, {1 + 0x1p-10}), expected);
  EXPECT_EQ(next.beyond, 1);
  EXPECT_DOUBLE_EQ(next.worst, 1.5);
  EXPECT_DOUBLE_EQ(next.bound, 0x1p-11);
}

TEST(Bounded, AddsWhatTheOperatorAllows) {
  const Expected expected = computed(DType::f32, {100, 100}, {0.5, 0});
  const Bounded found = gathered(of(DType::f32, {100.25, 100.25}), expected);
  EXPECT_EQ(found.beyond, 1);
  EXPECT_EQ(found.worst_at, 1);
  EXPECT_EQ(found.mine, 100.25);
  EXPECT_EQ(found.expected, 100);
}

TEST(Bounded, OneWrongElementAmongManyIsSeen) {
  std::vector<double> values(100'000, 1);
  const Expected expected = computed(DType::f16, values);
  values[77'777] = 1.5;
  const Bounded found = gathered(of(DType::f16, values), expected);
  EXPECT_EQ(found.count, 100'000);
  EXPECT_EQ(found.beyond, 1);
  EXPECT_EQ(found.worst_at, 77'777);
}

TEST(Bounded, HoldsNanAndInfinitiesToTheirPlaces) {
  EXPECT_EQ(gathered(of(DType::f32, {kNan, kInf, -kInf}), computed(DType::f32, {kNan, kInf, -kInf})).beyond,
            0);
  EXPECT_EQ(gathered(of(DType::f32, {1, 2, kInf}), computed(DType::f32, {kNan, kInf, -kInf})).beyond, 3);
  EXPECT_EQ(gathered(of(DType::f32, {kNan, kInf}), computed(DType::f32, {1, 2}, {1e30, 1e30})).beyond, 2);
}

TEST(Bounded, TakesInfinityOrTheLargestNumberForWhatOverflows) {
  const Expected expected = computed(DType::f16, {70000, -70000, 70000, 70000});
  EXPECT_EQ(gathered(of(DType::f16, {kInf, -kInf, 65504, 65504}), expected).beyond, 0);
  EXPECT_EQ(gathered(of(DType::f16, {-kInf, kInf, 1, 60000}), expected).beyond, 4);
}

// An infinity that was given is no overflow, which a processor may cut to the largest number.
TEST(Bounded, KeepsInfinitiesThatAreNoOverflow) {
  const Expected expected = computed(DType::f32, {kInf, -kInf});
  EXPECT_EQ(gathered(of(DType::f32, {FLT_MAX, -FLT_MAX}), expected).beyond, 2);
}

TEST(Bounded, RoundsWholeNumbersByHalfAStep) {
  const Expected expected = computed(DType::i8, {2.4, 2.5, 2.5, -7.9});
  EXPECT_EQ(gathered(of(DType::i8, {2, 2, 3, -8}), expected).beyond, 0);
  EXPECT_EQ(gathered(of(DType::i8, {3, 1, 4, -7}), expected).beyond, 4);
}

TEST(Bounded, ComparesWhatOnlyMovesByItsBits) {
  const int64_t large = (int64_t{1} << 60) + 1, other = large + 1;  // one number in f64
  const auto whole = [](int64_t value) {
    std::vector<std::byte> bytes(sizeof(value));
    std::memcpy(bytes.data(), &value, sizeof(value));
    return dense_in_memory(std::move(bytes), TensorMeta{DType::i64, Shape{{1}}});
  };
  Expected expected;
  expected.dtype = DType::i64;
  expected.value = whole(large);
  EXPECT_EQ(gathered(whole(large), expected).beyond, 0);
  EXPECT_EQ(gathered(whole(other), expected).beyond, 1);
}

TEST(Bounded, CountsWhatNobodyKnows) {
  Expected expected = computed(DType::f32, {1, 2, 3});
  expected.known = of(DType::u8, {1, 0, 1});
  const Bounded found = gathered(of(DType::f32, {1, 99, 3}), expected);
  EXPECT_EQ(found.beyond, 0);
  EXPECT_EQ(found.unknown, 1);
}

TEST(Bounded, JudgesADumpOfACoarserTypeByThatType) {
  EXPECT_EQ(gathered(of(DType::bf16, {1.0}), computed(DType::f32, {1 + 0x1p-9})).beyond, 0);
  EXPECT_EQ(gathered(of(DType::f32, {1.0}), computed(DType::f32, {1 + 0x1p-9})).beyond, 1);
}

}  // namespace
}  // namespace assay

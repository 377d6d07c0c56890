#include "assay/metric/sketch.h"

#include "assay/metric/sketch_signs.h"
#include "assay/metric/tile_sketch.h"
#include "assay/tensor/dense.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <limits>
#include <random>

namespace assay {
namespace {

std::vector<float> numbers(size_t count, uint64_t seed) {
  std::mt19937_64 chance(seed);
  std::normal_distribution<float> normal;
  std::vector<float> values(count);
  for (float& value : values) value = normal(chance);
  return values;
}

Sketch sketch(const std::vector<float>& values) {
  const auto bytes = std::as_bytes(std::span(values));
  const OperandPtr operand =
      dense_in_memory({bytes.begin(), bytes.end()}, {DType::f32, Shape{{std::ssize(values)}}});
  SignSums signs;
  return *sketch_of(*operand, signs);
}

// The same bits on every CPU.
TEST(Sketch, AddsUpOnVectorsAsOneByOne) {
  std::vector<double> x;
  for (const float value : numbers(1024, 5)) x.push_back(value);
  x[3] = std::numeric_limits<double>::quiet_NaN();
  x[70] = std::numeric_limits<double>::infinity();
  x[1023] = -std::numeric_limits<double>::infinity();
  std::array<double, Sketch::kLanes> lanes{}, expected{};
  lanes.fill(0.5);
  expected.fill(0.5);
  tile::SketchSums sums{};
  for (size_t i = 0; i < x.size(); ++i) {
    const double value = std::isfinite(x[i]) ? x[i] : 0;
    const uint64_t signs = sketch_chance(9 + i / 64);
    expected[i % 64] += (signs >> (i % 64) & 1) != 0 ? -value : value;
    sums.sum[i % 8] += value;
    sums.absolutes[i % 8] += std::abs(value);
    sums.squares[i % 8] += value * value;
  }
  const tile::SketchSums found = tile::sketch_sums(x.data(), std::ssize(x), 9, lanes.data());
  EXPECT_EQ(lanes, expected);
  for (size_t k = 0; k < 8; ++k) {
    EXPECT_EQ(found.sum[k], sums.sum[k]);
    EXPECT_EQ(found.absolutes[k], sums.absolutes[k]);
    EXPECT_EQ(found.squares[k], sums.squares[k]);
  }
}

TEST(Sketch, SumsAddUpInAnyOrder) {
  const std::vector<float> a = numbers(70001, 1), b = numbers(129, 2);
  std::vector<float> joined = b;
  joined.insert(joined.end(), a.begin(), a.end());
  ContentSums sums = sketch(a).sums;
  sums += sketch(b).sums;
  EXPECT_EQ(sums.count, 70130);
  EXPECT_LT(distance(sums, sketch(joined).sums), 1e-9);
}

TEST(Sketch, UnrelatedTensorsAreFarApart) {
  for (uint64_t seed = 0; seed < 20; ++seed) {
    const Sketch a = sketch(numbers(5000, 2 * seed)), b = sketch(numbers(5000, 2 * seed + 1));
    EXPECT_GT(relative_distance(a, b), 0.8);
    EXPECT_LT(relative_distance(a, b), 2);
  }
}

TEST(Sketch, TheDistanceIsAboutTheRelativeError) {
  const std::vector<float> a = numbers(20000, 3), noise = numbers(20000, 4);
  for (const float size : {1e-4F, 1e-2F, 0.1F}) {
    std::vector<float> b = a;
    for (size_t i = 0; i < b.size(); ++i) b[i] += size * noise[i];
    const double apart = relative_distance(sketch(a), sketch(b));
    EXPECT_GT(apart, 0.6 * static_cast<double>(size));
    EXPECT_LT(apart, 1.5 * static_cast<double>(size));
  }
}

TEST(Sketch, TellsNormsNearOneApart) {
  std::vector<float> a = numbers(4097, 8), b = numbers(4097, 9);
  for (std::vector<float>* values : {&a, &b})
    for (float& value : *values) value = 1 + 0.01F * value;
  EXPECT_GT(relative_distance(sketch(a), sketch(b)), 0.8);
  std::vector<float> rounded = a;  // to bf16
  for (float& value : rounded) {
    const uint32_t bits = std::bit_cast<uint32_t>(value);
    value = std::bit_cast<float>((bits + 0x7fff + (bits >> 16 & 1)) & 0xffff0000U);
  }
  EXPECT_LT(relative_distance(sketch(a), sketch(rounded)), 0.25);
  std::vector<float> moved = a;
  for (float& value : moved) value += 1;
  EXPECT_GT(relative_distance(sketch(a), sketch(moved)), 10);
}

TEST(Sketch, OfSomeElementsTellsEqualOnesFromOthers) {
  const std::vector<float> a = numbers(300'001, 11), b = numbers(300'001, 12);
  std::vector<float> near = a;
  for (float& value : near) value *= 1.001F;
  SignSums signs;
  const auto quick = [&](const std::vector<float>& values) {
    const auto bytes = std::as_bytes(std::span(values));
    return *sketch_of(
        *dense_in_memory({bytes.begin(), bytes.end()}, {DType::f32, Shape{{std::ssize(values)}}}), signs,
        SketchDepth::some);
  };
  EXPECT_EQ(quick(a).sums.count, 300'001);
  EXPECT_EQ(quick(a).sums.looked_at, 16 * 256);
  EXPECT_LT(relative_distance(quick(a), quick(near)), 0.01);
  EXPECT_GT(relative_distance(quick(a), quick(b)), 0.8);
}

TEST(Sketch, SeesTheOrder) {
  std::vector<float> a = numbers(4096, 5), b = a;
  std::rotate(b.begin(), b.begin() + 1, b.end());
  EXPECT_GT(relative_distance(sketch(a), sketch(b)), 0.8);
  EXPECT_LT(distance(sketch(a).sums, sketch(b).sums), 1e-9);
}

TEST(Sketch, KnowsConstantsAndPassesOverWhatIsNotFinite) {
  EXPECT_TRUE(sketch(std::vector<float>(1000, 0.1F)).sums.is_constant());
  EXPECT_TRUE(sketch(std::vector<float>(1000, 0)).sums.is_constant());
  EXPECT_FALSE(sketch(numbers(1000, 6)).sums.is_constant());
  std::vector<float> a = numbers(1000, 7);
  a[3] = std::numeric_limits<float>::quiet_NaN();
  a[4] = std::numeric_limits<float>::infinity();
  EXPECT_TRUE(std::isfinite(sketch(a).sums.squares));
  EXPECT_EQ(relative_distance(sketch(a), sketch(a)), 0);
}

}  // namespace
}  // namespace assay

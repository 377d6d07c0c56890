#include "assay/golden/short_kernels.h"

#include "assay/golden/kernels.h"
#include "assay/tensor/dtype.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cfloat>
#include <cmath>
#include <limits>
#include <vector>

namespace assay {
namespace {

constexpr double kUnitOfF32 = 0x1p-24;
constexpr float kInfiniteF = std::numeric_limits<float>::infinity();

struct ShortTry {
  std::vector<float> values, allowed;
  explicit ShortTry(size_t n) : values(n), allowed(n) {}
  kernel::ShortOut out() { return {values.data(), allowed.data()}; }
};

// Every number of 16 bits.
std::vector<float> all_of(float (*widen)(uint16_t)) {
  std::vector<float> x;
  for (uint32_t bits = 0; bits <= 0xFFFF; ++bits) x.push_back(widen(static_cast<uint16_t>(bits)));
  return x;
}

TEST(ShortKernels, GeluIsOffByNoMoreThanItSaysAtAnyNumber) {
  for (const auto widen : {f16_to_f32, bf16_to_f32}) {
    const std::vector<float> x = all_of(widen);
    ShortTry ours(x.size());
    kernel::gelu_by_erf_short(x.data(), std::ssize(x), ours.out());
    for (size_t i = 0; i < x.size(); ++i) {
      const double each = x[i], half = 0.5 * std::erfc(std::abs(each) * std::sqrt(0.5));
      const double exact = each * (each < 0 ? half : 1 - half);
      if (!std::isfinite(exact)) {
        EXPECT_FALSE(std::isfinite(ours.values[i])) << each;
        EXPECT_EQ(ours.allowed[i], 0) << each;
        continue;
      }
      const double own = kUnitOfF32 * (8 * std::abs(each) * half + 2 * std::abs(exact)) + double{FLT_MIN};
      EXPECT_LE(std::abs(double{ours.values[i]} - exact), own) << each;
      // Ours, and the error of the coarsest erf in use.
      const double t = std::abs(each) * std::sqrt(0.5);
      const double theirs =
          kUnitOfF32 * (std::abs(each) / 2 * (12 + 3 * t * std::exp(-t * t)) + 3 * std::abs(exact));
      EXPECT_GE(double{ours.allowed[i]}, theirs * (1 - 1e-6)) << each;
      EXPECT_LE(double{ours.allowed[i]}, (theirs + 1.5 * own) * (1 + 1e-6)) << each;
    }
  }
}

// In f64, by the kernel for wider types.
struct WideTry {
  std::vector<double> x, values, errors;
  explicit WideTry(const std::vector<float>& of)
      : x(of.begin(), of.end()), values(of.size()), errors(of.size()) {
    kernel::softmax(x.data(), std::ssize(x), kUnitOfF32, {values.data(), errors.data()});
  }
};

TEST(ShortKernels, SoftmaxIsThatOfWiderTypes) {
  for (const size_t n : {size_t{1}, size_t{7}, size_t{64}, size_t{1000}, size_t{4097}}) {
    std::vector<float> x(n);
    uint32_t state = 1;
    for (float& each : x) {
      state = state * 1664525 + 1013904223;
      each = bf16_to_f32(static_cast<uint16_t>(0x4000 + (state >> 16 & 0x82FF)));
    }
    const WideTry wide(x);
    ShortTry ours(n);
    kernel::softmax_short(x.data(), std::ssize(x), ours.out());
    const double largest = *std::max_element(x.begin(), x.end());
    for (size_t i = 0; i < n; ++i) {
      const double own =
          kUnitOfF32 * wide.values[i] * (11 + 2 * (largest - double{x[i]}) + 60) + double{FLT_MIN};
      EXPECT_LE(std::abs(double{ours.values[i]} - wide.values[i]), own) << n << " " << i;
      EXPECT_GE(double{ours.allowed[i]}, wide.errors[i] * (1 - 1e-4)) << n << " " << i;
      EXPECT_LE(double{ours.allowed[i]},
                2 * wide.errors[i] + kUnitOfF32 * wide.values[i] * 20 + 2 * double{FLT_MIN})
          << n << " " << i;
    }
  }
}

TEST(ShortKernels, SoftmaxOfInfinitiesAndNoNumbers) {
  std::vector<float> x(40, 1);
  x[3] = -kInfiniteF;
  ShortTry ours(x.size());
  kernel::softmax_short(x.data(), std::ssize(x), ours.out());
  EXPECT_EQ(ours.values[3], 0);
  EXPECT_FLOAT_EQ(ours.values[4], 1.0F / 39);
  for (const float odd : {kInfiniteF, std::numeric_limits<float>::quiet_NaN()}) {
    x[39] = odd;
    kernel::softmax_short(x.data(), std::ssize(x), ours.out());
    for (size_t i = 0; i < x.size(); ++i) {
      EXPECT_TRUE(std::isnan(ours.values[i])) << i;
      EXPECT_EQ(ours.allowed[i], 0) << i;
    }
  }
  std::fill(x.begin(), x.end(), -kInfiniteF);
  kernel::softmax_short(x.data(), std::ssize(x), ours.out());
  EXPECT_TRUE(std::isnan(ours.values[0]));
  // Smaller than any normal number of f32: nothing, or what it is.
  x = {0, -87.25F, -88};
  kernel::softmax_short(x.data(), 3, ours.out());
  EXPECT_NEAR(double{ours.values[1]}, std::exp(-87.25), 1e-5 * std::exp(-87.25));
  EXPECT_LE(std::abs(std::exp(-88.0) - double{ours.values[2]}), double{ours.allowed[2]});
}

}  // namespace
}  // namespace assay

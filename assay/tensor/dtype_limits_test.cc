#include "assay/tensor/dtype_limits.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

namespace assay {
namespace {

// All values of a type of one byte or less, as its codes give them.
std::vector<double> finite_values(DType dtype) {
  std::vector<double> values;
  const int bits = info(dtype).storage_bits;
  for (int code = 0; code < 1 << bits; ++code) {
    const auto byte = static_cast<std::byte>(code);
    double value = 0;
    to_f64(dtype, &byte, 1, &value);
    if (std::isfinite(value)) values.push_back(std::abs(value));
  }
  std::ranges::sort(values);
  return values;
}

TEST(RealLimits, AreThoseOfTheCodesOfSmallTypes) {
  for (const DType dtype :
       {DType::f8e4m3fn, DType::f8e5m2, DType::f8e4m3fnuz, DType::f8e5m2fnuz, DType::f8e8m0, DType::hif8,
        DType::f6e3m2, DType::f6e2m3, DType::f4e2m1, DType::f4e1m2})
    EXPECT_EQ(limits_of(dtype).largest, finite_values(dtype).back()) << name(dtype);
}

// Below the least normal number the steps are all alike; above it, they grow with the numbers.
TEST(RealLimits, NormalNumbersBeginWhereStepsBeginToGrow) {
  for (const DType dtype : {DType::f8e4m3fn, DType::f8e5m2, DType::f8e4m3fnuz, DType::f8e5m2fnuz,
                            DType::f6e3m2, DType::f6e2m3, DType::f4e2m1}) {
    std::vector<double> values = finite_values(dtype);
    values.erase(std::unique(values.begin(), values.end()), values.end());
    const double step = values[1] - values[0], least = limits_of(dtype).least_normal;
    for (size_t i = 1; i < values.size(); ++i)
      EXPECT_EQ(values[i] - values[i - 1] == step, values[i] <= 2 * least) << name(dtype) << " " << values[i];
  }
}

TEST(RealLimits, WholeNumbersHaveNone) {
  EXPECT_EQ(limits_of(DType::i8).largest, 0);
  EXPECT_EQ(limits_of(DType::boolean).least_normal, 0);
}

TEST(RealLimits, OfComplexAreThoseOfTheComponent) { EXPECT_EQ(limits_of(DType::c32).largest, 65504); }

}  // namespace
}  // namespace assay

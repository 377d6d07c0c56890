#include "assay/tensor/rounded_values.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace assay {
namespace {

// A tensor in memory.
class Held : public Operand {
 public:
  Held(DType dtype, std::span<const double> values)
      : Operand({dtype, {{std::ssize(values)}}}),
        bytes_(values.size() * static_cast<size_t>(size_of(dtype))) {
    from_f64(dtype, values.data(), std::ssize(values), bytes_.data());
  }
  Result<Block> block(int64_t first, int64_t count, Scratch&) const override {
    return Block{meta.dtype, bytes_.data() + first * size_of(meta.dtype), count};
  }

 private:
  std::vector<std::byte> bytes_;
};

std::vector<double> thirds(DType rounded_to, int count = 100) {
  std::vector<double> values;
  for (int i = 1; i <= count; ++i) values.push_back(i / 3.0 + 0.01 * i * i);
  std::vector<std::byte> bytes(values.size() * static_cast<size_t>(size_of(rounded_to)));
  from_f64(rounded_to, values.data(), std::ssize(values), bytes.data());
  to_f64(rounded_to, bytes.data(), std::ssize(values), values.data());
  return values;
}

std::optional<DType> found(DType kept_as, std::span<const double> values) {
  Scratch scratch;
  const auto type = find_rounded_type(Held(kept_as, values), scratch);
  EXPECT_TRUE(type.has_value());
  return *type;
}

TEST(RoundedValues, TheTypeThatTheyWereRoundedTo) {
  EXPECT_EQ(found(DType::f32, thirds(DType::bf16)), DType::bf16);
  EXPECT_EQ(found(DType::f32, thirds(DType::f16)), DType::f16);
  EXPECT_EQ(found(DType::f64, thirds(DType::f16)), DType::f16);
  EXPECT_EQ(found(DType::f64, thirds(DType::f32)), DType::f32);
}

TEST(RoundedValues, NoneOfValuesWithAllTheirBits) {
  EXPECT_EQ(found(DType::f32, thirds(DType::f32)), std::nullopt);
  EXPECT_EQ(found(DType::f64, thirds(DType::f64)), std::nullopt);
  std::vector<double> one_of_many = thirds(DType::bf16, 100'000);
  one_of_many.back() = 1.0 / 3;
  EXPECT_EQ(found(DType::f32, one_of_many), std::nullopt);
}

TEST(RoundedValues, PlainOnesSayNothing) {
  EXPECT_EQ(found(DType::f32, std::vector<double>(100, 1)), std::nullopt);
  EXPECT_EQ(found(DType::f32, std::vector<double>(100, 0)), std::nullopt);
  EXPECT_EQ(found(DType::f32, std::vector<double>(100, 0.5)), std::nullopt);
  EXPECT_EQ(found(DType::f32, thirds(DType::bf16, 15)), std::nullopt);
  std::vector<double> ids;
  for (int i = 0; i < 200; ++i) ids.push_back(i);
  EXPECT_EQ(found(DType::f32, ids), std::nullopt);
}

TEST(RoundedValues, WhatIsNotFiniteIsPassedOver) {
  std::vector<double> values = thirds(DType::bf16);
  values[3] = std::numeric_limits<double>::infinity();
  values[4] = std::nan("");
  EXPECT_EQ(found(DType::f32, values), DType::bf16);
}

}  // namespace
}  // namespace assay

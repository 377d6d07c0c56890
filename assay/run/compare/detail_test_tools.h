// Tensors of normal numbers, and what a close look says of them.
#pragma once

#include "assay/run/compare/detail.h"

#include "assay/tensor/dense.h"

#include <gtest/gtest.h>

#include <functional>
#include <random>

namespace assay::detail_tools {

inline OperandPtr tensor_of(DType dtype, const Shape& shape, const std::vector<double>& values) {
  std::vector<std::byte> bytes(values.size() * static_cast<size_t>(size_of(component(dtype))));
  from_f64(dtype, values.data(), std::ssize(values), bytes.data());
  return dense_in_memory(std::move(bytes), {dtype, shape});
}

inline Detail look(const Operand& mine, const Operand& golden, const DetailOptions& options = {}) {
  Progress silent("", 0, false);
  PairScratch scratch;
  auto detail = look_closely(mine, golden, options, scratch, silent);
  EXPECT_TRUE(detail.has_value()) << (detail ? "" : detail.error().message);
  return detail ? std::move(*detail) : Detail{};
}

inline std::vector<double> normal(int64_t count, unsigned seed = 1) {
  std::mt19937 engine(seed);
  std::normal_distribution<double> draw;
  std::vector<double> values(static_cast<size_t>(count));
  for (double& value : values) value = draw(engine);
  return values;
}

using Change = std::function<double(const std::vector<int64_t>& at, double golden)>;

// golden: normal numbers; mine: what the change makes of them, with noise of so much of each.
struct TwoSides {
  OperandPtr mine, golden;
  std::string sentence() const { return look(*mine, *golden).sentence(); }
};

inline TwoSides changed(DType dtype, const Shape& shape, const Change& change, double noise = 0,
                        unsigned seed = 1) {
  const std::vector<double> golden = normal(shape.count(), seed), errors = normal(shape.count(), seed + 1000);
  std::vector<double> mine = golden;
  std::vector<int64_t> at(shape.dims.size());
  for (size_t n = 0; n < mine.size(); ++n) {
    auto rest = static_cast<int64_t>(n);
    for (size_t i = at.size(); i-- > 0; rest /= shape.dims[i]) at[i] = rest % shape.dims[i];
    mine[n] = change(at, golden[n]) * (1 + noise * errors[n]);
  }
  return {tensor_of(dtype, shape, mine), tensor_of(dtype, shape, golden)};
}

// mine holds golden's elements at other places.
inline TwoSides moved(const Shape& shape, const std::function<int64_t(int64_t)>& from, double noise = 0) {
  const std::vector<double> golden = normal(shape.count()), errors = normal(shape.count(), 77);
  std::vector<double> mine(golden.size());
  for (size_t n = 0; n < mine.size(); ++n)
    mine[n] = golden[static_cast<size_t>(from(static_cast<int64_t>(n)))] * (1 + noise * errors[n]);
  return {tensor_of(DType::f32, shape, mine), tensor_of(DType::f32, shape, golden)};
}

}  // namespace assay::detail_tools

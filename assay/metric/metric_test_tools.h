// What the tests of metrics share.
#pragma once

#include "assay/metric/band.h"
#include "assay/tensor/dense.h"

#include <gtest/gtest.h>

#include <cstring>
#include <limits>
#include <vector>

namespace assay::testing {

inline constexpr GatherMask kEverything = 0xFFFFFFFF;
inline constexpr double kInf = std::numeric_limits<double>::infinity(),
                        kNan = std::numeric_limits<double>::quiet_NaN();

template <class T>
OperandPtr tensor(DType dtype, const std::vector<T>& values) {
  std::vector<std::byte> bytes(values.size() * sizeof(T));
  if (!values.empty()) std::memcpy(bytes.data(), values.data(), bytes.size());
  const auto count = static_cast<int64_t>(bytes.size()) / size_of(dtype);
  return dense_in_memory(std::move(bytes), {dtype, Shape{{count}}});
}

// The values rounded to the type.
inline OperandPtr narrowed(DType dtype, const std::vector<double>& values) {
  std::vector<std::byte> bytes(values.size() * static_cast<size_t>(size_of(dtype)));
  from_f64(dtype, values.data(), std::ssize(values), bytes.data());
  return dense_in_memory(std::move(bytes), {dtype, Shape{{std::ssize(values)}}});
}

inline std::vector<double> widened(const Operand& operand) {
  std::vector<double> values(static_cast<size_t>(operand.meta.shape.count()));
  const auto bytes = read_whole(operand, int64_t{1} << 30);
  to_f64(operand.meta.dtype, bytes->data(), std::ssize(values), values.data());
  return values;
}

inline Gathered gather_all(const Operand& a, const Operand& b, const GatherPlan& plan = {kEverything}) {
  PairScratch scratch;
  auto gathered = gather_pair(a, b, plan, scratch);
  EXPECT_TRUE(gathered.has_value());
  return std::move(*gathered);
}

}  // namespace assay::testing

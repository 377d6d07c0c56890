#include "assay/run/compare/detail.h"

#include "assay/run/compare/detail_test_tools.h"
#include "assay/support/parallel.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstring>
#include <functional>
#include <numeric>
#include <random>

namespace assay {
namespace {

using namespace detail_tools;

TEST(LookClosely, CountsAndSumsAreThoseOfALoop) {
  const Shape shape{{3, 130, 70}};
  const TwoSides pair = changed(DType::f32, shape, [](const auto& at, double x) {
    return at[1] == 7 ? x + 1 : at[2] == 3 ? x * 1.5 : x;
  });
  const Detail detail = look(*pair.mine, *pair.golden);
  std::vector<float> a(static_cast<size_t>(shape.count())), b(a.size());
  const auto mine_bytes = read_whole(*pair.mine, 1 << 20), golden_bytes = read_whole(*pair.golden, 1 << 20);
  std::memcpy(a.data(), mine_bytes->data(), a.size() * 4);
  std::memcpy(b.data(), golden_bytes->data(), b.size() * 4);

  ASSERT_EQ(detail.profiles.size(), 3U);
  for (size_t dim = 0; dim < 3; ++dim) {
    const DetailProfile& profile = detail.profiles[dim];
    EXPECT_EQ(profile.axis.dimension, static_cast<int>(dim));
    ASSERT_EQ(std::ssize(profile.max_abs), shape.dims[dim]);
    for (int64_t entry = 0; entry < shape.dims[dim]; ++entry) {
      double max = 0, abs = 0, squares = 0, golden = 0;
      int64_t count = 0;
      for (int64_t n = 0; n < shape.count(); ++n) {
        const int64_t at[] = {n / (130 * 70), n / 70 % 130, n % 70};
        if (at[dim] != entry) continue;
        const auto i = static_cast<size_t>(n);
        const double d = static_cast<double>(a[i]) - static_cast<double>(b[i]);
        max = std::max(max, std::abs(d));
        abs += std::abs(d);
        squares += d * d;
        golden += static_cast<double>(b[i]) * static_cast<double>(b[i]);
        ++count;
      }
      const auto k = static_cast<size_t>(entry);
      EXPECT_EQ(profile.max_abs[k], max);
      EXPECT_NEAR(profile.mean_abs[k], abs / static_cast<double>(count), 1e-12);
      EXPECT_NEAR(profile.rel_l2[k], std::sqrt(squares / golden), 1e-12);
    }
  }
  // 130 rows three at a time, 70 columns two at a time.
  EXPECT_EQ(detail.map.rows.step, 3);
  EXPECT_EQ(detail.map.columns.step, 2);
  ASSERT_EQ(std::ssize(detail.map.max_abs), 44 * 35);
  for (int64_t row = 0; row < 44; ++row)
    for (int64_t column = 0; column < 35; ++column) {
      double max = 0, abs = 0;
      int64_t count = 0;
      for (int64_t n = 0; n < shape.count(); ++n) {
        if (n / 70 % 130 / 3 != row || n % 70 / 2 != column) continue;
        const auto i = static_cast<size_t>(n);
        const double d = static_cast<double>(a[i]) - static_cast<double>(b[i]);
        max = std::max(max, std::abs(d));
        abs += std::abs(d);
        ++count;
      }
      const auto k = static_cast<size_t>(row * 35 + column);
      EXPECT_EQ(detail.map.max_abs[k], max);
      EXPECT_NEAR(detail.map.mean_abs[k], abs / static_cast<double>(count), 1e-12);
    }
  // Bins: a value counts where the edges say.
  std::vector<int64_t> bins(64);
  for (const double value : a)
    for (size_t i = 0; i < 64; ++i)
      if (value >= detail.edges[i] && (value < detail.edges[i + 1] || i == 63)) {
        ++bins[i];
        break;
      }
  int64_t other = 0;
  for (size_t i = 0; i < 64; ++i) other += std::abs(bins[i] - detail.mine_values[i]);
  EXPECT_LE(other, 4);  // a value at an edge, which rounding may take to either side
  EXPECT_EQ(std::accumulate(detail.scatter.begin(), detail.scatter.end(), int64_t{0}), shape.count());
  EXPECT_EQ(std::accumulate(detail.differences.begin(), detail.differences.end(), int64_t{0}) +
                detail.zero_differences,
            shape.count());
  EXPECT_EQ(detail.zero_differences, detail.equal);
  for (size_t i = 0; i < detail.differences.size(); ++i) {
    int64_t count = 0;
    for (size_t n = 0; n < a.size(); ++n) {
      const float size = std::abs(a[n] - b[n]);
      count += size > 0 && size >= static_cast<float>(detail.difference_edges[i]) &&
               size < static_cast<float>(detail.difference_edges[i + 1]);
    }
    EXPECT_EQ(count, detail.differences[i]) << i;
  }
}

TEST(LookClosely, IsTheSameOnAnyNumberOfThreads) {
  const Shape shape{{5, 1301, 1290}};  // three bands, the last one cut
  const TwoSides pair = changed(
      DType::bf16, shape, [](const auto&, double x) { return x; }, 0.02);
  std::optional<Detail> first;
  for (const size_t threads : {1, 2, 5}) {
    const ThreadLimit limit(threads);
    const Detail detail = look(*pair.mine, *pair.golden);
    if (!first) first = detail;
    EXPECT_EQ(detail.scatter, first->scatter);
    EXPECT_EQ(detail.differences, first->differences);
    EXPECT_EQ(detail.map.mean_abs, first->map.mean_abs);
    ASSERT_EQ(detail.profiles.size(), 3U);
    for (size_t i = 0; i < 3; ++i) EXPECT_EQ(detail.profiles[i].rel_l2, first->profiles[i].rel_l2);
    EXPECT_EQ(detail.sentence(), first->sentence());
  }
}

TEST(LookClosely, EveryShapeHasItsProfiles) {
  // Wide rows, long thin tensors, many dimensions: each entry is that of a loop.
  for (const std::vector<int64_t>& dims : std::vector<std::vector<int64_t>>{
           {}, {1}, {7}, {3, 1, 5}, {2, 70000}, {20000, 3}, {9000, 2, 3}, {4, 3, 2, 5, 6}}) {
    const Shape shape{dims};
    const TwoSides pair = changed(
        DType::f64, shape, [](const auto&, double x) { return x + 0.001; }, 0.01);
    const Detail detail = look(*pair.mine, *pair.golden);
    const auto a = read_whole(*pair.mine, 1 << 24), b = read_whole(*pair.golden, 1 << 24);
    const auto at = [](const auto& bytes, int64_t n) {
      double value = 0;
      std::memcpy(&value, bytes->data() + n * 8, 8);
      return value;
    };
    size_t next = 0;
    for (size_t dim = 0; dim < dims.size(); ++dim) {
      if (dims[dim] < 2) continue;
      ASSERT_LT(next, detail.profiles.size());
      const DetailProfile& profile = detail.profiles[next++];
      ASSERT_LE(profile.axis.entries(), 512);
      std::vector<double> max(static_cast<size_t>(profile.axis.entries()));
      int64_t stride = 1;
      for (size_t i = dim + 1; i < dims.size(); ++i) stride *= dims[i];
      for (int64_t n = 0; n < shape.count(); ++n) {
        double& most = max[static_cast<size_t>(n / stride % dims[dim] / profile.axis.step)];
        most = std::max(most, std::abs(at(a, n) - at(b, n)));
      }
      EXPECT_EQ(profile.max_abs, max) << shape.text() << " dim " << dim;
    }
    EXPECT_EQ(next, detail.profiles.size());
  }
}

TEST(LookClosely, TheMapMayBeOfOtherDimensions) {
  const Shape shape{{4, 6, 100, 5}};
  const TwoSides pair = changed(
      DType::f32, shape, [](const auto& at, double x) { return at[0] == 2 && at[1] == 5 ? x + 1 : x; });
  for (const auto& [rows, columns] : std::vector<std::pair<int, int>>{{0, 1}, {1, 3}, {3, 0}, {1, 2}}) {
    const Detail detail = look(*pair.mine, *pair.golden, {rows, columns});
    EXPECT_EQ(detail.map.rows.dimension, rows);
    EXPECT_EQ(detail.map.columns.dimension, columns);
    const int64_t at[] = {2, 5, -1, -1};
    for (int64_t row = 0; row < detail.map.rows.entries(); ++row)
      for (int64_t column = 0; column < detail.map.columns.entries(); ++column) {
        const bool is_hit = (at[rows] < 0 || at[rows] == row) && (at[columns] < 0 || at[columns] == column);
        EXPECT_EQ(detail.map.max_abs[static_cast<size_t>(row * detail.map.columns.entries() + column)] > 0.5,
                  is_hit)
            << rows << columns << row << column;
      }
  }
}

TEST(LookClosely, SaysNothingOfHonestNoise) {
  unsigned seed = 0;
  for (const DType dtype : {DType::f32, DType::f16, DType::bf16, DType::f64, DType::f8e4m3fn})
    for (const double noise : {1e-6, 1e-4, 1e-3, 1e-2, 0.1, 1.0})
      for (const std::vector<int64_t>& dims : std::vector<std::vector<int64_t>>{
               {64}, {7, 9}, {33, 64}, {2, 4, 16, 32}, {1, 128, 96}, {1000}, {4, 4}, {256, 2}}) {
        const TwoSides pair = changed(
            dtype, Shape{dims}, [](const auto&, double x) { return x; }, noise, ++seed);
        const Detail detail = look(*pair.mine, *pair.golden);
        if (detail.equal == detail.count || detail.count - detail.equal <= 8) continue;  // it says how many
        EXPECT_EQ(detail.sentence(), "") << name(dtype) << ' ' << noise << ' ' << Shape{dims}.text();
      }
}

}  // namespace
}  // namespace assay

#include "assay/metric/detail/gatherer.h"

#include "assay/metric/band.h"
#include "assay/metric/tile_kernels.h"
#include "assay/tensor/dense.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstring>
#include <random>

namespace assay::detail {
namespace {

OperandPtr tensor_of(const Shape& shape, const std::vector<float>& values) {
  std::vector<std::byte> bytes(values.size() * sizeof(float));
  std::memcpy(bytes.data(), values.data(), bytes.size());
  return dense_in_memory(std::move(bytes), {DType::f32, shape});
}

struct Both {
  std::vector<float> mine, golden;
};

// Some of mine are 0 where golden is not, some stay at a limit.
Both random_pair(int64_t count) {
  std::mt19937 engine(5);
  std::normal_distribution<float> draw;
  Both both;
  for (int64_t i = 0; i < count; ++i) {
    const float golden = draw(engine);
    both.golden.push_back(golden);
    both.mine.push_back(i % 7001 == 11 ? 0 : std::clamp(golden * 1.01F, -3.0F, 3.0F));
  }
  return both;
}

DetailSums sums_of(const Shape& shape, const Both& both, const Walk& walk) {
  const OperandPtr mine = tensor_of(shape, both.mine), golden = tensor_of(shape, both.golden);
  PairScratch scratch;
  const auto known = gather_pair(*mine, *golden, {gather::sums | gather::means}, scratch);
  EXPECT_TRUE(known.has_value());
  auto found = gather_detail(*mine, *golden, walk, start_of(known->pair), 0, shape.count(), scratch);
  EXPECT_TRUE(found.has_value());
  return std::move(*found);
}

// Runs side by side (their lengths are multiples of 16) and one by one, with the cuts of tiles at other
// places in each: the sums of a place are those of a loop over the runs, to the last bit.
TEST(GatherDetail, AddsUpPlacesRunByRun) {
  for (const auto& [rows, columns] : {std::pair<int64_t, int64_t>{13, 5120},
                                      {11, 11008},
                                      {300, 1024},
                                      {7, 32768},
                                      {200, 272},
                                      {30, 5001}}) {
    const Shape shape{{rows, columns}};
    const Both both = random_pair(shape.count());
    const Walk walk(shape, 1, -1, -1);  // without a map, nothing is passed on before the end
    ASSERT_EQ(walk.outer(), 1U);
    const DetailSums sums = sums_of(shape, both, walk);
    double zeros = 0, stuck = 0;
    for (int64_t column = 0; column < columns; ++column) {
      double max = 0, abs = 0, squares = 0, of_golden = 0;
      for (int64_t row = 0; row < rows; ++row) {
        const auto i = static_cast<size_t>(row * columns + column);
        const auto x = static_cast<double>(both.mine[i]), y = static_cast<double>(both.golden[i]);
        max = std::max(max, std::abs(x - y));
        abs += std::abs(x - y);
        squares += (x - y) * (x - y);
        of_golden += y * y;
        zeros += x == 0 && y != 0 ? 1 : 0;
        stuck += std::abs(x) == 3 && std::abs(y) > 3 ? 1 : 0;
      }
      const auto at = static_cast<size_t>(column);
      ASSERT_EQ(sums.places.max[at], max) << shape.text() << " " << column;
      ASSERT_EQ(sums.places.abs[at], abs) << shape.text() << " " << column;
      ASSERT_EQ(sums.places.squares[at], squares) << shape.text() << " " << column;
      ASSERT_EQ(sums.places.golden[at], of_golden) << shape.text() << " " << column;
    }
    EXPECT_EQ(sums.zeros, zeros);
    EXPECT_EQ(sums.stuck, stuck);
    EXPECT_GT(stuck, 0);
  }
}

// Eight sums of every eighth element of what a tile has of a run, added in a fixed tree.
double abs_of_part(const Both& both, int64_t first, int64_t last) {
  double lanes[8] = {};
  for (int64_t i = first; i < last; ++i)
    lanes[(i - first) % 8] += std::abs(static_cast<double>(both.mine[static_cast<size_t>(i)]) -
                                       static_cast<double>(both.golden[static_cast<size_t>(i)]));
  return ((lanes[0] + lanes[4]) + (lanes[2] + lanes[6])) + ((lanes[1] + lanes[5]) + (lanes[3] + lanes[7]));
}

TEST(GatherDetail, SumsOfARowBeginAnewWithEachTile) {
  const Shape shape{{29, 5120}};
  const Both both = random_pair(shape.count());
  const Walk walk(shape, 1, -1, -1);
  const DetailSums sums = sums_of(shape, both, walk);
  for (int64_t row = 0; row < 29; ++row) {
    double abs = 0;
    for (int64_t at = row * 5120; at < (row + 1) * 5120;) {
      const int64_t end = std::min((row + 1) * 5120, (at / tile::kTile + 1) * tile::kTile);
      abs += abs_of_part(both, at, end);
      at = end;
    }
    EXPECT_EQ(sums.outer[0].abs[static_cast<size_t>(row)], abs) << row;
  }
}

}  // namespace
}  // namespace assay::detail

#include "assay/run/compare/align_weight.h"

#include "assay/tensor/dense.h"

#include <gmock/gmock.h>

#include <cstring>

namespace assay {
namespace {

using ::testing::ElementsAre;

OperandPtr tensor(std::vector<int64_t> dims, const std::vector<float>& values) {
  const auto bytes = std::as_bytes(std::span(values));
  return dense_in_memory({bytes.begin(), bytes.end()}, {DType::f32, Shape{std::move(dims)}});
}

std::vector<float> values_of(const Operand& operand) {
  const auto bytes = read_whole(operand, 1 << 20);
  EXPECT_TRUE(bytes);
  std::vector<float> values(bytes->size() / sizeof(float));
  std::memcpy(values.data(), bytes->data(), bytes->size());
  return values;
}

Spread spread(std::vector<OperandPtr> shards) {
  return {shards[0], shards.size(), [shards]() -> Result<std::vector<OperandPtr>> { return shards; }};
}

AlignedWeight aligned(const std::vector<OperandPtr>& whole, const Spread& other,
                      const SharedWeight& how = {}) {
  const auto done = align_weight(whole, "golden", other, how);
  EXPECT_TRUE(done && *done);
  return done && *done ? **done : AlignedWeight{whole[0], other.own, "no"};
}

TEST(AlignWeight, JoinsTheColumnsOfARowParallelProjection) {
  const AlignedWeight done = aligned({tensor({2, 4}, {1, 2, 3, 4, 5, 6, 7, 8})},
                                     spread({tensor({2, 2}, {1, 2, 5, 6}), tensor({2, 2}, {3, 4, 7, 8})}));
  EXPECT_EQ(values_of(*done.spread), values_of(*done.whole));
  EXPECT_EQ(done.note, "mine joined from 2 ranks along dimension 1");
}

// Query, key and value of two rows each: every rank has one of each.
TEST(AlignWeight, GivesEveryRankItsShareOfEachMatrix) {
  const std::vector<OperandPtr> whole = {tensor({2, 1}, {1, 2}), tensor({2, 1}, {3, 4}),
                                         tensor({2, 1}, {5, 6})};
  const AlignedWeight done = aligned(whole, spread({tensor({3, 1}, {1, 3, 5}), tensor({3, 1}, {2, 4, 6})}));
  EXPECT_THAT(values_of(*done.whole), ElementsAre(1, 3, 5, 2, 4, 6));
  EXPECT_EQ(values_of(*done.spread), values_of(*done.whole));
}

TEST(AlignWeight, TurnsATransposedMatrix) {
  const AlignedWeight done =
      aligned({tensor({2, 3}, {1, 2, 3, 4, 5, 6})}, spread({tensor({3, 2}, {1, 4, 2, 5, 3, 6})}));
  EXPECT_EQ(values_of(*done.spread), values_of(*done.whole));
  EXPECT_EQ(done.note, "golden transposed");
}

TEST(AlignWeight, TurnsAndSharesOut) {
  const std::vector<OperandPtr> whole = {tensor({2, 3}, {1, 2, 3, 4, 5, 6}),
                                         tensor({2, 3}, {7, 8, 9, 10, 11, 12})};
  const AlignedWeight done =
      aligned(whole, spread({tensor({3, 2}, {1, 7, 2, 8, 3, 9}), tensor({3, 2}, {4, 10, 5, 11, 6, 12})}));
  EXPECT_EQ(done.whole->meta.shape.text(), "[3, 4]");
  EXPECT_EQ(values_of(*done.spread), values_of(*done.whole));
}

TEST(AlignWeight, RefusesWhatDoesNotFit) {
  const auto done = align_weight({tensor({2, 3}, {1, 2, 3, 4, 5, 6})}, "golden",
                                 spread({tensor({4}, {1, 2, 3, 4}), tensor({4}, {1, 2, 3, 4})}), {});
  ASSERT_TRUE(done);
  EXPECT_FALSE(*done);
}

TEST(AlignWeight, SaysThatARankHoldsAnotherShape) {
  const auto done = align_weight({tensor({2, 1}, {1, 2})}, "golden",
                                 spread({tensor({1, 1}, {1}), tensor({2, 1}, {1, 2})}), {});
  EXPECT_FALSE(done);
}

TEST(CutWeight, GivesTheMatricesOfOneTensor) {
  const auto cut = cut_weight(tensor({3, 2}, {1, 2, 3, 4, 5, 6}), {.cuts = {1, 2}});
  ASSERT_TRUE(cut && *cut);
  EXPECT_THAT(values_of(*(**cut)[0]), ElementsAre(1, 2));
  EXPECT_THAT(values_of(*(**cut)[1]), ElementsAre(3, 4, 5, 6));
  const auto wrong = cut_weight(tensor({3, 2}, {1, 2, 3, 4, 5, 6}), {.cuts = {1, 3}});
  ASSERT_TRUE(wrong);
  EXPECT_FALSE(*wrong);
}

}  // namespace
}  // namespace assay

#include "assay/run/compare/made.h"

#include "assay/tensor/dense.h"

#include <gmock/gmock.h>

#include <cstring>

namespace assay {
namespace {

using ::testing::ElementsAre;
using Values = std::vector<float>;

OperandPtr tensor(std::vector<int64_t> dims, const Values& values) {
  const auto bytes = std::as_bytes(std::span(values));
  return dense_in_memory({bytes.begin(), bytes.end()}, {DType::f32, Shape{std::move(dims)}});
}

Values values_of(const Operand& operand) {
  const auto bytes = read_whole(operand, 1 << 20);
  EXPECT_TRUE(bytes);
  Values values(bytes->size() / sizeof(float));
  std::memcpy(values.data(), bytes->data(), bytes->size());
  return values;
}

Spread spread(std::vector<OperandPtr> shards) {
  return {shards[0], shards.size(), [shards](size_t rank) -> Result<OperandPtr> { return shards[rank]; }};
}

Made tensor_on(std::vector<OperandPtr> shards) {
  Made made;
  made.parts.push_back(spread(std::move(shards)));
  return made;
}

Made parts(std::vector<Spread> parts) {
  Made made;
  made.parts = std::move(parts);
  return made;
}

Made weight(std::vector<Spread> matrices, bool is_transposed = false) {
  Made made = parts(std::move(matrices));
  made.dimension = 0;
  made.is_weight = made.may_be_transposed = true;
  made.is_transposed = is_transposed;
  return made;
}

Aligned aligned(const Made& mine, const Made& golden) {
  const auto done = align(mine, golden, {});
  EXPECT_TRUE(done && *done);
  return done && *done ? **done : Aligned{mine.own(), golden.own(), "no"};
}

bool fits(const Made& mine, const Made& golden) {
  const auto done = align(mine, golden, {});
  EXPECT_TRUE(done);
  return done && *done;
}

TEST(AlignWeight, JoinsTheColumnsOfARowParallelProjection) {
  const Aligned done = aligned(tensor_on({tensor({2, 2}, {1, 2, 5, 6}), tensor({2, 2}, {3, 4, 7, 8})}),
                               weight({spread({tensor({2, 4}, {1, 2, 3, 4, 5, 6, 7, 8})})}));
  EXPECT_EQ(values_of(*done.mine), values_of(*done.golden));
  EXPECT_EQ(done.note, "mine joined from 2 ranks along dimension 1");
  EXPECT_TRUE(done.mine_joined);
  EXPECT_FALSE(done.golden_joined);
}

// Query, key and value of two rows each: every rank has one of each.
TEST(AlignWeight, GivesEveryRankItsShareOfEachMatrix) {
  const Aligned done = aligned(tensor_on({tensor({3, 1}, {1, 3, 5}), tensor({3, 1}, {2, 4, 6})}),
                               weight({spread({tensor({2, 1}, {1, 2})}), spread({tensor({2, 1}, {3, 4})}),
                                       spread({tensor({2, 1}, {5, 6})})}));
  EXPECT_THAT(values_of(*done.golden), ElementsAre(1, 3, 5, 2, 4, 6));
  EXPECT_EQ(values_of(*done.mine), values_of(*done.golden));
}

TEST(AlignWeight, TurnsATransposedMatrix) {
  const Aligned done = aligned(tensor_on({tensor({3, 2}, {1, 4, 2, 5, 3, 6})}),
                               weight({spread({tensor({2, 3}, {1, 2, 3, 4, 5, 6})})}));
  EXPECT_EQ(values_of(*done.mine), values_of(*done.golden));
  EXPECT_EQ(done.note, "golden transposed");
}

TEST(AlignWeight, TurnsAndSharesOut) {
  const Aligned done =
      aligned(tensor_on({tensor({3, 2}, {1, 7, 2, 8, 3, 9}), tensor({3, 2}, {4, 10, 5, 11, 6, 12})}),
              weight({spread({tensor({2, 3}, {1, 2, 3, 4, 5, 6})}),
                      spread({tensor({2, 3}, {7, 8, 9, 10, 11, 12})})}));
  EXPECT_EQ(done.golden->meta.shape.text(), "[3, 4]");
  EXPECT_EQ(values_of(*done.mine), values_of(*done.golden));
}

// Two ranks with one row of each matrix, against one that has all of them, and against four.
TEST(AlignWeight, MatricesMayBeSharedOutThemselves) {
  const Made two = weight({spread({tensor({2, 1}, {1, 2}), tensor({2, 1}, {3, 4})}),
                           spread({tensor({2, 1}, {5, 6}), tensor({2, 1}, {7, 8})})});
  const Aligned with_one = aligned(two, tensor_on({tensor({8, 1}, {1, 2, 3, 4, 5, 6, 7, 8})}));
  EXPECT_EQ(values_of(*with_one.mine), values_of(*with_one.golden));
  EXPECT_TRUE(with_one.mine_joined);
  const Aligned with_four = aligned(two, tensor_on({tensor({2, 1}, {1, 5}), tensor({2, 1}, {2, 6}),
                                                    tensor({2, 1}, {3, 7}), tensor({2, 1}, {4, 8})}));
  EXPECT_EQ(values_of(*with_four.mine), values_of(*with_four.golden));
  EXPECT_TRUE(with_four.mine_joined && with_four.golden_joined);
}

TEST(AlignWeight, RefusesWhatDoesNotFit) {
  EXPECT_FALSE(fits(tensor_on({tensor({4}, {1, 2, 3, 4}), tensor({4}, {1, 2, 3, 4})}),
                    weight({spread({tensor({2, 3}, {1, 2, 3, 4, 5, 6})})})));
}

TEST(AlignWeight, SaysThatARankHoldsAnotherShape) {
  EXPECT_FALSE(align(tensor_on({tensor({1, 1}, {1}), tensor({2, 1}, {1, 2})}),
                     weight({spread({tensor({2, 1}, {1, 2})})}), {}));
}

TEST(AlignParts, StandSideBySide) {
  const Aligned done =
      aligned(parts({spread({tensor({2, 2}, {1, 2, 3, 4})}), spread({tensor({1, 2, 1}, {8, 9})})}),
              tensor_on({tensor({1, 2, 3}, {1, 2, 8, 3, 4, 9})}));
  EXPECT_EQ(values_of(*done.mine), values_of(*done.golden));
  EXPECT_EQ(done.note, "");
}

// Every rank has its share of every part.
TEST(AlignParts, StandRankByRank) {
  const Made whole = parts({spread({tensor({1, 4}, {1, 2, 3, 4})}), spread({tensor({1, 2}, {8, 9})})});
  const Aligned done = aligned(tensor_on({tensor({1, 3}, {1, 2, 8}), tensor({1, 3}, {3, 4, 9})}), whole);
  EXPECT_THAT(values_of(*done.golden), ElementsAre(1, 2, 8, 3, 4, 9));
  EXPECT_EQ(values_of(*done.mine), values_of(*done.golden));
}

// As many ranks on both sides hold the same shares: nothing is cut a second time.
TEST(AlignParts, OfAsManyRanksAreLeftAsTheyAre) {
  const Made whole = parts({spread({tensor({1, 2}, {1, 2}), tensor({1, 2}, {3, 4})}),
                            spread({tensor({1, 2}, {5, 6}), tensor({1, 2}, {7, 8})})});
  const Aligned done =
      aligned(tensor_on({tensor({1, 4}, {1, 2, 5, 6}), tensor({1, 4}, {3, 4, 7, 8})}), whole);
  EXPECT_EQ(values_of(*done.mine), values_of(*done.golden));
  EXPECT_FALSE(done.mine_joined || done.golden_joined);
}

// Ranks that hold copies are looked at one by one.
TEST(AlignParts, OfOneRank) {
  const Made copies = parts({spread({tensor({1, 1}, {1}), tensor({1, 1}, {3})}),
                             spread({tensor({1, 1}, {2}), tensor({1, 1}, {4})})});
  const Made golden = tensor_on({tensor({1, 2}, {1, 2})});
  EXPECT_FALSE(aligned(copies, golden).mine_joined);
  const auto second = copies.at_rank(1);
  ASSERT_TRUE(second);
  EXPECT_EQ(second->ranks(), 1U);
  EXPECT_THAT(values_of(*aligned(*second, golden).mine), ElementsAre(3, 4));
  const Made one_lacks =
      parts({spread({tensor({1, 1}, {1}), tensor({1, 1}, {3})}), spread({tensor({1, 1}, {2})})});
  EXPECT_EQ(one_lacks.ranks(), 2U);
  EXPECT_FALSE(one_lacks.at_rank(1));
}

// Terms of a sum depend on how many ranks there are; the sum does not.
TEST(AlignSums, AddsUpWhatTheRanksHold) {
  Made two = tensor_on({tensor({2}, {1, 2}), tensor({2}, {3, 5})});
  Made three = tensor_on({tensor({2}, {1, 1}), tensor({2}, {1, 1}), tensor({2}, {2, 5})});
  two.adds_ranks = three.adds_ranks = true;
  const Aligned done = aligned(two, three);
  double values[2];
  for (const OperandPtr& side : {done.mine, done.golden}) {
    const auto bytes = read_whole(*side, sizeof values).value();
    std::memcpy(values, bytes.data(), sizeof values);
    EXPECT_THAT(values, ElementsAre(4, 7));
  }
  EXPECT_TRUE(done.mine_joined && done.golden_joined);
  EXPECT_EQ(done.note, "mine added up from 2 ranks; golden added up from 3 ranks");
}

OperandPtr bytes_of(DType dtype, std::vector<int64_t> dims, size_t count) {
  return dense_in_memory(std::vector<std::byte>(count), {dtype, Shape{std::move(dims)}});
}

// Int8 that its scale made real, on two ranks.
Made made_real() {
  Made made = tensor_on({tensor({2}, {1, 2}), tensor({2}, {3, 4})});
  made.quantised =
      std::make_shared<const Spread>(spread({bytes_of(DType::i8, {2}, 2), bytes_of(DType::i8, {2}, 2)}));
  return made;
}

TEST(LeaveWholeNumbers, WhereTheOtherSideHoldsThemToo) {
  for (const DType dtype : {DType::i8, DType::u8, DType::i32, DType::boolean}) {
    Made made = made_real();
    const OperandPtr as_dumped = made.quantised->own;
    leave_whole_numbers(made, tensor_on({bytes_of(dtype, {2}, 8)}));
    EXPECT_EQ(made.own(), as_dumped);
    EXPECT_EQ(made.quantised, nullptr);  // so that no note says that it was made real
    ASSERT_EQ(made.ranks(), 2U);
    EXPECT_EQ(made.at_rank(1)->own()->meta.dtype, DType::i8);
  }
}

TEST(LeaveWholeNumbers, NotWhereTheOtherSideIsReal) {
  for (const DType dtype : {DType::f16, DType::bf16, DType::f32}) {
    Made made = made_real();
    leave_whole_numbers(made, tensor_on({bytes_of(dtype, {2}, 8)}));
    EXPECT_THAT(values_of(*made.own()), ElementsAre(1, 2));
    EXPECT_NE(made.quantised, nullptr);
  }
  // Two that were made real are compared as such: each has a scale of its own.
  Made mine = made_real(), golden = made_real();
  leave_whole_numbers(mine, golden);
  leave_whole_numbers(golden, mine);
  EXPECT_NE(mine.quantised, nullptr);
  EXPECT_NE(golden.quantised, nullptr);
}

TEST(LeaveWholeNumbers, LeavesWhatWasNotQuantised) {
  Made made = tensor_on({tensor({2}, {1, 2})});
  leave_whole_numbers(made, tensor_on({bytes_of(DType::i8, {2}, 2)}));
  EXPECT_THAT(values_of(*made.own()), ElementsAre(1, 2));
}

TEST(AlignParts, RefusesPartsThatDoNotFit) {
  EXPECT_FALSE(fits(parts({spread({tensor({2, 1}, {1, 2})}), spread({tensor({3, 1}, {1, 2, 3})})}),
                    tensor_on({tensor({5}, {1, 2, 3, 4, 5})})));
}

}  // namespace
}  // namespace assay

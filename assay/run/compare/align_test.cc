#include "assay/run/compare/align.h"

#include "assay/tensor/dense.h"
#include "assay/tensor/gather.h"

#include <gmock/gmock.h>

namespace assay {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

OperandPtr tensor(std::vector<int64_t> dims, const std::vector<float>& values) {
  const auto bytes = std::as_bytes(std::span(values));
  return dense_in_memory({bytes.begin(), bytes.end()}, {DType::f32, Shape{std::move(dims)}});
}

// 0, 1, 2 …
OperandPtr counting(std::vector<int64_t> dims, float first = 0) {
  std::vector<float> values(static_cast<size_t>(Shape{dims}.count()));
  for (size_t i = 0; i < values.size(); ++i) values[i] = first + static_cast<float>(i);
  return tensor(std::move(dims), values);
}

std::vector<float> values_of(const Operand& operand) {
  const auto bytes = read_whole(operand, 1 << 20);
  EXPECT_TRUE(bytes);
  std::vector<float> values(bytes->size() / sizeof(float));
  std::memcpy(values.data(), bytes->data(), bytes->size());
  return values;
}

Spread alone(OperandPtr own) { return {std::move(own)}; }
Spread spread(std::vector<OperandPtr> shards) {
  return {shards[0], shards.size(), [shards](size_t rank) -> Result<OperandPtr> { return shards[rank]; }};
}

std::string note_of(const Spread& mine, const Spread& golden, const AlignRules& rules = {}) {
  const auto done = align(mine, golden, rules);
  EXPECT_TRUE(done);
  return done && *done ? (*done)->note : "no";
}

// Of two heads of keys and four ranks, each head is on two of them.
TEST(Align, JoinsSharesThatSeveralRanksHold) {
  const Spread mine = spread(
      {tensor({2, 1}, {0, 2}), tensor({2, 1}, {0, 2}), tensor({2, 1}, {1, 3}), tensor({2, 1}, {1, 3})});
  const auto done = align(mine, alone(counting({1, 2, 2})), {});
  ASSERT_TRUE(done && *done);
  EXPECT_THAT(values_of(*(*done)->mine), ElementsAre(0, 0, 1, 1, 2, 2, 3, 3));
  EXPECT_EQ(values_of(*(*done)->mine), values_of(*(*done)->golden));
  EXPECT_EQ((*done)->note, "mine joined from 4 ranks along dimension 1, each share on 2 of them");
  EXPECT_TRUE((*done)->mine_joined);
  EXPECT_EQ(note_of(spread({counting({2, 2}), counting({2, 2}), counting({2, 2})}), alone(counting({2, 4}))),
            "no");
}

TEST(Align, LeavesEqualShapesAlone) {
  EXPECT_EQ(note_of(alone(counting({2, 3})), alone(counting({2, 3}))), "");
}

TEST(Align, TakesDimensionsOfSizeOneAndMergedOnes) {
  EXPECT_THAT(note_of(alone(counting({6, 4})), alone(counting({1, 6, 4}))), HasSubstr("size 1 only"));
  EXPECT_THAT(note_of(alone(counting({6, 4})), alone(counting({2, 3, 4})), {.merge = true}),
              HasSubstr("merged dimensions"));
  EXPECT_EQ(note_of(alone(counting({6, 4})), alone(counting({2, 3, 4}))), "no");
  EXPECT_EQ(note_of(alone(counting({6, 4})), alone(counting({4, 6})), {.merge = true}), "no");
  EXPECT_THAT(note_of(alone(counting({6, 4})), alone(counting({4, 6})), {.flatten = true}),
              HasSubstr("as many elements"));
}

TEST(Align, OfLogitsTakesTheLastPosition) {
  const AlignRules rules{.last_row = true};
  const auto done = align(alone(counting({2, 3})), alone(counting({2, 4, 3})), rules);
  ASSERT_TRUE(done && *done);
  EXPECT_THAT(values_of(*(*done)->golden), ElementsAre(9, 10, 11, 21, 22, 23));
  EXPECT_EQ((*done)->note, "the last position of golden");
  EXPECT_EQ(note_of(alone(counting({1, 5, 3})), alone(counting({3})), rules), "the last position of mine");
  EXPECT_EQ(note_of(alone(counting({1, 4})), alone(counting({1, 5, 3})), rules), "no");
  EXPECT_EQ(note_of(alone(counting({2, 3})), alone(counting({1, 5, 3})), rules), "no");
  EXPECT_EQ(note_of(alone(counting({2, 3})), alone(counting({2, 4, 3}))), "no");
}

TEST(Align, JoinsRanksAlongTheDimensionThatDiffers) {
  const Spread mine = spread({tensor({2, 2}, {0, 1, 4, 5}), tensor({2, 2}, {2, 3, 6, 7})});
  const auto done = align(mine, alone(counting({1, 2, 4})), {});
  ASSERT_TRUE(done && *done);
  EXPECT_THAT(values_of(*(*done)->mine), ElementsAre(0, 1, 2, 3, 4, 5, 6, 7));
  EXPECT_EQ((*done)->note, "mine joined from 2 ranks along dimension 1");
  EXPECT_TRUE((*done)->mine_joined);
  EXPECT_FALSE((*done)->golden_joined);
}

// Where all ranks hold a tensor whole, they are compared one by one.
TEST(Align, DoesNotJoinCopies) {
  const Spread mine = spread({counting({2, 4}), counting({2, 4})});
  const auto done = align(mine, alone(counting({2, 4})), {});
  ASSERT_TRUE(done && *done);
  EXPECT_EQ((*done)->note, "");
  EXPECT_FALSE((*done)->mine_joined);
}

TEST(Align, JoinsBothSidesWhereBothAreParts) {
  const Spread mine = spread({counting({2, 2}), counting({2, 2}), counting({2, 2}), counting({2, 2})});
  const Spread golden = spread({counting({2, 4}), counting({2, 4})});
  EXPECT_THAT(note_of(mine, golden), HasSubstr("golden joined from 2 ranks"));
}

TEST(Align, RefusesPartsOfDifferentShapes) {
  const auto done = align(spread({counting({2, 2}), counting({2, 3})}), alone(counting({2, 4})), {});
  ASSERT_FALSE(done);
  EXPECT_THAT(done.error().message, HasSubstr("shapes [2, 2] and [2, 3]"));
}

TEST(Align, RepeatsTheSmallerBatch) {
  const auto done = align(alone(counting({4, 2})), alone(counting({2, 2})), {.repeat = true});
  ASSERT_TRUE(done && *done);
  EXPECT_THAT(values_of(*(*done)->golden), ElementsAre(0, 1, 2, 3, 0, 1, 2, 3));
  EXPECT_EQ((*done)->note, "golden repeated 2 times along dimension 0");
  EXPECT_EQ(note_of(alone(counting({3, 2})), alone(counting({2, 2})), {.repeat = true}), "no");
  EXPECT_EQ(note_of(alone(counting({4, 2})), alone(counting({2, 2}))), "no");
}

TEST(Align, RepeatsHoweverOften) {
  const auto larger = strided(counting({1}), Shape{{int64_t{1} << 40}}, {0}, 0).value();
  const auto done = align(alone(larger), alone(counting({2})), {.repeat = true});
  ASSERT_TRUE(done && *done);
  const Operand& golden = *(*done)->golden;
  EXPECT_EQ(golden.meta.shape, larger->meta.shape);
  Scratch scratch;
  const auto last = golden.block((int64_t{1} << 40) - 3, 3, scratch);
  ASSERT_TRUE(last) << last.error().message;
  EXPECT_EQ(load_le<float>(last->bytes().subspan(4)), 0);
  EXPECT_EQ(load_le<float>(last->bytes().subspan(8)), 1);
}

TEST(Align, BroadcastsAsTorchDoes) {
  const auto done = align(alone(counting({2})), alone(counting({3, 2})), {.repeat = true});
  ASSERT_TRUE(done && *done);
  EXPECT_THAT(values_of(*(*done)->mine), ElementsAre(0, 1, 0, 1, 0, 1));
}

}  // namespace
}  // namespace assay

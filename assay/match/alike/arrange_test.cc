#include "assay/match/alike/arrange.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <numeric>
#include <set>

namespace assay {
namespace {

std::vector<int64_t> elements_of(const Arrangement& arrangement, int64_t count) {
  std::vector<int64_t> places;
  for (int64_t i = 0; i < count; ++i) places.push_back(arrangement.place(i).index);
  return places;
}

const Arrangement* find(const std::vector<Arrangement>& all, std::string_view text) {
  const auto found = std::ranges::find(all, text, &Arrangement::text);
  return found == all.end() ? nullptr : &*found;
}

TEST(Rearrangements, BeginWithTheTensorAsItIs) {
  const auto all = rearrangements(Shape{{2, 3}}, Shape{{2, 3}});
  ASSERT_FALSE(all.empty());
  EXPECT_EQ(all[0].text, "");
  EXPECT_EQ(elements_of(all[0], 6), (std::vector<int64_t>{0, 1, 2, 3, 4, 5}));
}

TEST(Rearrangements, TransposeAMatrix) {
  const auto all = rearrangements(Shape{{2, 3}}, Shape{{3, 2}});
  const Arrangement* const turned = find(all, "{}.T");
  ASSERT_NE(turned, nullptr);
  EXPECT_EQ(elements_of(*turned, 6), (std::vector<int64_t>{0, 2, 4, 1, 3, 5}));
  EXPECT_EQ(turned->text_of("golden"), "golden.T");
}

TEST(Rearrangements, FindHeadsInsideMergedColumns) {
  // [positions * (heads * n)] of the whole against [heads, positions, n].
  const int64_t heads = 2, positions = 3, n = 4;
  const auto all = rearrangements(Shape{{heads, positions, n}}, Shape{{positions, heads * n}});
  std::vector<int64_t> wanted;
  for (int64_t h = 0; h < heads; ++h)
    for (int64_t p = 0; p < positions; ++p)
      for (int64_t i = 0; i < n; ++i) wanted.push_back(p * heads * n + h * n + i);
  EXPECT_TRUE(
      std::ranges::any_of(all, [&](const Arrangement& each) { return elements_of(each, 24) == wanted; }));
}

TEST(Rearrangements, UndoTheFractalLayout) {
  // NZ: [columns / 4, rows / 2, 2, 4] of a matrix of 4 by 8.
  const auto all = rearrangements(Shape{{4, 8}}, Shape{{2, 2, 2, 4}});
  std::vector<int64_t> wanted;
  for (int64_t row = 0; row < 4; ++row)
    for (int64_t column = 0; column < 8; ++column)
      wanted.push_back(column / 4 * 16 + row / 2 * 8 + row % 2 * 4 + column % 4);
  EXPECT_TRUE(
      std::ranges::any_of(all, [&](const Arrangement& each) { return elements_of(each, 32) == wanted; }));
}

TEST(Rearrangements, SetRotaryPairsApart) {
  const auto all = rearrangements(Shape{{8, 1}}, Shape{{8, 1}});
  const Arrangement* const apart = find(all, "{} with the rotary pairs of 2 heads set apart");
  ASSERT_NE(apart, nullptr);
  EXPECT_EQ(elements_of(*apart, 8), (std::vector<int64_t>{0, 2, 1, 3, 4, 6, 5, 7}));
}

TEST(Rearrangements, OfUnlikeShapesAreNone) {
  EXPECT_TRUE(rearrangements(Shape{{5, 2}}, Shape{{7, 3}}).empty());
  EXPECT_TRUE(rearrangements(Shape{{5, 2}}, Shape{{8, 2}}).empty());  // half a tensor is another one
  EXPECT_TRUE(rearrangements(Shape{{0, 2}}, Shape{{0, 2}}).empty());
}

TEST(Rearrangements, LookBeforeThePaddingOfARoundLength) {
  const auto all = rearrangements(Shape{{21, 2}}, Shape{{32, 2}});
  ASSERT_EQ(all.size(), 1u);
  EXPECT_EQ(all[0].text, "{}[0:21], and zeros up to 32");
  ASSERT_TRUE(all[0].window && all[0].window->is_padded);
  EXPECT_EQ(all[0].place(41).index, 41);
  const auto columns = rearrangements(Shape{{2, 21}}, Shape{{2, 32}});
  ASSERT_EQ(columns.size(), 1u);
  EXPECT_EQ(columns[0].place(21).index, 32);
  EXPECT_TRUE(rearrangements(Shape{{7, 2}}, Shape{{32, 2}}).empty());     // mostly padding
  EXPECT_TRUE(rearrangements(Shape{{21, 2}}, Shape{{33, 2}}).empty());    // not round
  EXPECT_TRUE(rearrangements(Shape{{17, 33}}, Shape{{32, 64}}).empty());  // mostly padding, of both together
}

TEST(Rearrangements, LookBeforeThePaddingOfTwoDimensions) {
  const auto all = rearrangements(Shape{{21, 15}}, Shape{{32, 16}});
  ASSERT_EQ(all.size(), 1u);
  EXPECT_EQ(all[0].text, "{}[0:21, 0:15], and zeros up to 32, 16");
  EXPECT_EQ(all[0].place(14).index, 14);
  EXPECT_EQ(all[0].place(15).index, 16);
}

// Blocks of 16 rows behind each other, the first 16 columns of all rows first.
TEST(Rearrangements, LookIntoBlocksThatWereRoundedUp) {
  const auto all = rearrangements(Shape{{17, 20}}, Shape{{2, 2, 16, 16}});
  ASSERT_EQ(all.size(), 1u);
  EXPECT_EQ(all[0].text, "{} of blocks laid side by side[0:17, 0:20], and zeros up to 32, 32");
  ASSERT_TRUE(all[0].window && all[0].window->is_padded);
  EXPECT_EQ(all[0].place(0).index, 0);
  EXPECT_EQ(all[0].place(15).index, 15);
  EXPECT_EQ(all[0].place(16).index, 512);           // row 0, column 16: behind 32 rows of 16
  EXPECT_EQ(all[0].place(20).index, 16);            // row 1
  EXPECT_EQ(all[0].place(16 * 20 + 3).index, 259);  // row 16, column 3
  EXPECT_TRUE(rearrangements(Shape{{17, 20}}, Shape{{2, 3, 16, 16}}).empty());  // a block too many
  EXPECT_EQ(rearrangements(Shape{{3, 17, 20}}, Shape{{3, 1, 2, 16, 32}}).size(), 1u);
}

TEST(Rearrangements, PaddingMayBeOfAllRanksTogether) {
  const auto all = without_padding(Shape{{21, 2}}, Shape{{8, 2}}, 4);
  ASSERT_EQ(all.size(), 1u);
  EXPECT_EQ(all[0].place(17).source, 1u);
  EXPECT_EQ(all[0].place(17).index, 1);
}

TEST(Rearrangements, RanksThatHoldAsMuchAsThereIsHoldNoPadding) {
  EXPECT_TRUE(without_padding(Shape{{32}}, Shape{{32}}, 2).empty());
  EXPECT_EQ(without_padding(Shape{{24}}, Shape{{16}}, 2).size(), 1u);
}

// Whatever the candidate: every element of the whole is in exactly one place of one part.
void expect_partition(std::span<const Shape> parts, const Shape& whole, size_t sources) {
  const auto all = partitions(parts, whole, sources);
  EXPECT_FALSE(all.empty());
  for (const std::vector<Arrangement>& candidate : all) {
    ASSERT_EQ(candidate.size(), parts.size());
    std::set<std::pair<size_t, int64_t>> seen;
    for (size_t part = 0; part < parts.size(); ++part)
      for (int64_t i = 0; i < parts[part].count(); ++i) {
        const auto [source, index] = candidate[part].place(i);
        EXPECT_TRUE(seen.emplace(source, index).second) << candidate[part].text;
        EXPECT_LT(index, whole.count());
      }
    EXPECT_EQ(std::ssize(seen), whole.count() * static_cast<int64_t>(sources)) << candidate[0].text;
  }
}

TEST(Partitions, UseEveryElementOnce) {
  expect_partition(std::vector<Shape>{{{8, 3}}, {{4, 3}}, {{4, 3}}}, Shape{{16, 3}}, 1);
  expect_partition(std::vector<Shape>{{{3, 4}}, {{3, 2}}}, Shape{{3, 6}}, 1);
  expect_partition(std::vector<Shape>{{{4, 3}}, {{2, 3}}}, Shape{{3, 6}}, 1);  // transposed
  expect_partition(std::vector<Shape>(4, Shape{{2, 3}}), Shape{{4, 2, 3}}, 1);
  expect_partition(std::vector<Shape>(4, Shape{{2, 3}}), Shape{{4, 3, 2}}, 1);
  expect_partition(std::vector<Shape>(2, Shape{{8, 3}}), Shape{{16, 3}}, 1);
  expect_partition(std::vector<Shape>{{{8, 3}}, {{4, 3}}}, Shape{{6, 3}}, 2);
}

TEST(Partitions, OfSharesUseEveryElementOnce) {
  const std::vector<Shape> parts = {{{4, 6}}, {{2, 6}}, {{2, 6}}};
  for (const Shape& whole : {Shape{{16, 6}}, Shape{{8, 12}}}) {
    const auto all = shared_partitions(parts, whole, 2);
    EXPECT_FALSE(all.empty());
    for (const std::vector<Arrangement>& candidate : all) {
      ASSERT_EQ(candidate.size(), 6u);
      std::set<int64_t> seen;
      for (size_t share = 0; share < candidate.size(); ++share)
        for (int64_t i = 0; i < parts[share / 2].count(); ++i)
          EXPECT_TRUE(seen.insert(candidate[share].place(i).index).second) << candidate[share].text;
      EXPECT_EQ(std::ssize(seen), whole.count());
    }
  }
}

TEST(Partitions, ExpertsMayHaveSeveralParts) {
  const std::vector<Shape> parts(4, Shape{{2, 3}});  // gate and up of two experts
  const auto all = partitions(parts, Shape{{2, 4, 3}});
  ASSERT_FALSE(all.empty());
  EXPECT_EQ(all[0][2].place(0).index, 12);
}

TEST(Partitions, RanksHaveOneOrder) {
  const std::vector<Shape> ranks(2, Shape{{4, 3}});
  for (const auto& candidate : partitions(ranks, Shape{{8, 3}}, 1, PartOrder::as_given))
    EXPECT_EQ(candidate[0].place(0).index, 0) << candidate[0].text;
}

TEST(Partitions, SayHowAPartLies) {
  const std::vector<Shape> parts = {{{4, 3}}, {{2, 3}}};
  const auto all = partitions(parts, Shape{{6, 3}});
  EXPECT_EQ(all[0][0].text, "{}[0:4]");
  EXPECT_EQ(all[0][1].text, "{}[4:6]");
  EXPECT_TRUE(std::ranges::any_of(
      all, [](const auto& candidate) { return candidate[1].text == "{}[2:3] of each of 2 groups"; }));
}

TEST(Partitions, OfPartsThatDoNotFillTheWholeAreNone) {
  EXPECT_TRUE(partitions(std::vector<Shape>{{{4, 3}}, {{1, 3}}}, Shape{{6, 3}}).empty());
  EXPECT_TRUE(partitions(std::vector<Shape>{{{4, 2}}, {{2, 3}}}, Shape{{6, 3}}).empty());
}

}  // namespace
}  // namespace assay

#include "assay/match/alike/assign.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <random>

namespace assay {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::Not;

Holder named(std::string_view name) {
  Holder holder;
  holder.form = form_of(name);
  return holder;
}

TEST(AssignByName, ChoosesAsAWhole) {
  // Taken one after another, "a.b.x" would take "a.b", and leave "a.b.c.x" with "q".
  Holder mine[] = {named("a.b.x"), named("a.b")}, golden[] = {named("a.b"), named("a.x")};
  EXPECT_THAT(assign_by_name({&mine[0], &mine[1]}, {&golden[0], &golden[1]}),
              ElementsAre(::testing::Pair(&mine[0], &golden[1]), ::testing::Pair(&mine[1], &golden[0])));
}

TEST(AssignByName, LeavesOutWhatTheLongerSideHasTooMuch) {
  Holder mine[] = {named("layers.0.norm"), named("layers.1.norm"), named("layers.2.norm")},
         golden[] = {named("h.2.norm")};
  EXPECT_THAT(assign_by_name({&mine[0], &mine[1], &mine[2]}, {&golden[0]}),
              ElementsAre(::testing::Pair(&mine[2], &golden[0])));
  EXPECT_THAT(assign_by_name({}, {&golden[0]}), IsEmpty());
}

Sketch random_sketch(uint64_t seed) {
  std::mt19937_64 chance(seed);
  std::normal_distribution<double> normal;
  Sketch sketch;
  for (double& lane : sketch.lanes) lane = normal(chance);
  sketch.sums = {1000, 1, 2, 3};
  return sketch;
}

TEST(FindNearest, IsSureOfPairsAndTiesWhatIsEqual) {
  const Sketch a = random_sketch(1), b = random_sketch(2), c = random_sketch(3);
  Sketch nearly_a = a;
  nearly_a.lanes[0] += 0.01;
  Holder mine[4], golden[3];
  const Sketch* const of_mine[] = {&nearly_a, &b, &b, &c};
  const Sketch* const of_golden[] = {&b, &a, &b};
  for (size_t i = 0; i < 4; ++i) mine[i].sketches = {of_mine[i]};
  for (size_t i = 0; i < 3; ++i) golden[i].sketches = {of_golden[i]};
  Effort effort = Effort::without_end();
  const Nearest found = find_nearest({&mine[0], &mine[1], &mine[2], &mine[3]},
                                     {&golden[0], &golden[1], &golden[2]}, 0.25, 1000, effort);
  EXPECT_THAT(found.sure, ElementsAre(::testing::Pair(&mine[0], &golden[1])));
  ASSERT_EQ(found.tied.size(), 1u);
  EXPECT_THAT(found.tied[0].mine, ElementsAre(&mine[1], &mine[2]));
  EXPECT_THAT(found.tied[0].golden, ElementsAre(&golden[0], &golden[2]));
}

// The time must not grow with the square of the tensors.
TEST(FindNearest, TellsThousandsApartWithoutHoldingAllAgainstAll) {
  constexpr size_t kCount = 3000;
  std::vector<Sketch> sketches[2];
  std::mt19937_64 chance(9);
  std::normal_distribution<double> normal;
  for (size_t i = 0; i < kCount; ++i) {
    sketches[0].push_back(random_sketch(i));
    sketches[1].push_back(sketches[0].back());
    for (double& lane : sketches[1].back().lanes) lane += 0.004 * normal(chance);  // as bf16 rounds
  }
  std::vector<Holder> holders[2];
  std::vector<Holder*> sides[2];
  for (size_t side = 0; side < 2; ++side) {
    holders[side].resize(kCount);
    for (size_t i = 0; i < kCount; ++i) {
      holders[side][i].sketches = {&sketches[side][i]};
      sides[side].push_back(&holders[side][i]);
    }
  }
  std::shuffle(sides[1].begin(), sides[1].end(), chance);
  Effort effort = Effort::without_end();
  const Nearest found = find_nearest(sides[0], sides[1], 0.25, 1000, effort);
  ASSERT_EQ(found.sure.size(), kCount);
  EXPECT_EQ(found.spent, 0);
  for (const auto& [mine, golden] : found.sure)
    EXPECT_EQ(mine - holders[0].data(), golden - holders[1].data());
}

TEST(FindNearest, SaysWhereTheyWereTooMany) {
  const Sketch a = random_sketch(1), b = random_sketch(2);
  Holder mine, golden;
  mine.sketches = {&a};
  golden.sketches = {&b};
  Effort effort = Effort::without_end();
  EXPECT_FALSE(find_nearest({&mine}, {&golden}, 0.25, 1, effort).was_cut_short);
  EXPECT_TRUE(find_nearest({&mine}, {&golden}, 0.25, 0, effort).was_cut_short);
}

// All in one cell: they would all be held against all, unasked.
TEST(FindNearest, EndsWhereNearlyEqualOnesTakeMoreThanTheEffort) {
  constexpr size_t kCount = 20;
  std::vector<Sketch> sketches(kCount, random_sketch(1));
  std::vector<Holder> holders(kCount);
  std::vector<Holder*> side;
  for (size_t i = 0; i < kCount; ++i) {
    sketches[i].lanes[8] += 0.001 * static_cast<double>(i);
    holders[i].sketches = {&sketches[i]};
    side.push_back(&holders[i]);
  }
  // Each in cells, and what these leave again.
  Effort enough(2 * kCount * kCount), too_little(2 * kCount * kCount - 1), less(kCount);
  EXPECT_THAT(find_nearest(side, side, 0.25, 1000, enough).tied, Not(IsEmpty()));
  EXPECT_FALSE(enough.is_spent());
  for (Effort* effort : {&too_little, &less}) {
    EXPECT_THAT(find_nearest(side, side, 0.25, 1000, *effort).tied, IsEmpty());
    EXPECT_TRUE(effort->is_spent());
  }
}

}  // namespace
}  // namespace assay

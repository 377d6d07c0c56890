#include "assay/match/alike/assign.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <random>

namespace assay {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

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
  const Nearest found = find_nearest({&mine[0], &mine[1], &mine[2], &mine[3]},
                                     {&golden[0], &golden[1], &golden[2]}, 0.25, 1000);
  EXPECT_THAT(found.sure, ElementsAre(::testing::Pair(&mine[0], &golden[1])));
  ASSERT_EQ(found.tied.size(), 1u);
  EXPECT_THAT(found.tied[0].mine, ElementsAre(&mine[1], &mine[2]));
  EXPECT_THAT(found.tied[0].golden, ElementsAre(&golden[0], &golden[2]));
}

}  // namespace
}  // namespace assay

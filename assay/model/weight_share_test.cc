#include "assay/model/weight_share.h"

#include <gtest/gtest.h>

namespace assay {
namespace {

std::string fit(const std::vector<Shape>& whole, const Shape& share, int64_t ranks,
                const SharedWeight& how = {}) {
  const auto found = fit_share(whole, share, ranks, how);
  if (!found) return "no";
  return std::string(found->is_cut ? "cut " : "all ") + std::to_string(found->axis) +
         (found->transposed ? " transposed" : "");
}

TEST(WeightShare, FindsTheDimensionThatIsCut) {
  EXPECT_EQ(fit({{{8, 6}}}, {{4, 6}}, 2), "cut 0");
  EXPECT_EQ(fit({{{8, 6}}}, {{8, 3}}, 2), "cut 1");
  EXPECT_EQ(fit({{{8, 6}}}, {{8, 6}}, 2), "all 0");
  EXPECT_EQ(fit({{{8}}}, {{4}}, 2), "cut 0");
}

TEST(WeightShare, IsTransposedWhereOnlyThatFits) {
  EXPECT_EQ(fit({{{8, 6}}}, {{6, 8}}, 1), "all 1 transposed");
  EXPECT_EQ(fit({{{8, 6}}}, {{6, 4}}, 2), "cut 1 transposed");
  EXPECT_EQ(fit({{{8, 8}}}, {{8, 8}}, 1), "all 0");
  EXPECT_EQ(fit({{{8, 6}}}, {{6, 8}}, 1, {.is_projection = false}), "no");
}

// [4, 8] against a share [4, 4] of two ranks: cut along 1, or the transposed [8, 4] along 0.
TEST(WeightShare, BelievesTheOperatorWhereBothFit) {
  EXPECT_EQ(fit({{{4, 8}}}, {{4, 4}}, 2), "cut 1");
  EXPECT_EQ(fit({{{4, 8}}}, {{4, 4}}, 2, {.is_transposed = true}), "cut 0 transposed");
  EXPECT_EQ(fit({{{8, 8}}}, {{8, 8}}, 1, {.is_transposed = true}), "all 1 transposed");
}

TEST(WeightShare, SharesOutEveryMatrix) {
  EXPECT_EQ(fit({{{8, 6}}, {{4, 6}}, {{4, 6}}}, {{16, 6}}, 1), "all 0");
  EXPECT_EQ(fit({{{8, 6}}, {{4, 6}}, {{4, 6}}}, {{8, 6}}, 2), "cut 0");
  EXPECT_EQ(fit({{{8, 6}}, {{4, 6}}}, {{6, 6}}, 2), "cut 0");
  EXPECT_EQ(fit({{{8, 6}}, {{4, 6}}}, {{6, 12}}, 1), "all 1 transposed");
  EXPECT_EQ(fit({{{8, 6}}, {{4, 6}}}, {{12, 3}}, 2), "no");           // not along what they give
  EXPECT_EQ(fit({{{8, 6}}, {{2, 6}}, {{2, 6}}}, {{3, 6}}, 4), "no");  // two keys over four ranks
  EXPECT_EQ(fit({{{8, 6}}, {{4, 5}}}, {{12, 6}}, 1), "no");
}

TEST(WeightShare, RefusesWhatDoesNotFit) {
  EXPECT_EQ(fit({}, {{4, 6}}, 2), "no");
  EXPECT_EQ(fit({{{8, 6}}}, {{4, 6}}, 3), "no");
  EXPECT_EQ(fit({{{8, 6}}}, {{4, 3}}, 2), "no");
  EXPECT_EQ(fit({{{8, 6}}}, {{0, 6}}, 2), "no");
  EXPECT_EQ(fit({{{8, 6}}}, {{48}}, 1), "no");
  EXPECT_EQ(fit({{{}}}, {{}}, 1), "no");
  EXPECT_EQ(fit({{{INT64_MAX, 6}}, {{INT64_MAX, 6}}}, {{4, 6}}, 2), "no");
}

TEST(WeightShare, CutsTheWholeOne) {
  const auto pieces = cut_shapes({{16, 6}}, {.cuts = {8, 4, 4}});
  ASSERT_TRUE(pieces);
  EXPECT_EQ(*pieces, (std::vector<Shape>{{{8, 6}}, {{4, 6}}, {{4, 6}}}));
  EXPECT_EQ(cut_shapes({{6, 4}}, {.cuts = {1, 3}, .out_dimension = 1})->at(1), (Shape{{6, 3}}));
  EXPECT_EQ(cut_shapes({{4}}, {.cuts = {1, 3}, .out_dimension = 1})->at(1), (Shape{{3}}));
  EXPECT_FALSE(cut_shapes({{16, 6}}, {.cuts = {8, 4}}));
  EXPECT_FALSE(cut_shapes({{16, 6}}, {.cuts = {8, -4, 12}}));
  EXPECT_FALSE(cut_shapes({{}}, {.cuts = {1}}));
}

}  // namespace
}  // namespace assay

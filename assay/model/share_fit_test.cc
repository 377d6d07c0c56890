#include "assay/model/share_fit.h"

#include <gtest/gtest.h>

namespace assay {
namespace {

constexpr ShareRules kProjection = {.may_be_transposed = true};

std::string fit(const std::vector<Shape>& parts, const Shape& other, int64_t other_ranks,
                const ShareRules& how = kProjection, int64_t part_ranks = 1) {
  const auto found = fit_shares(parts, part_ranks, other, other_ranks, how);
  if (!found) return "no";
  const std::string which = found->parts_are_shares && found->other_is_share ? "both "
                            : found->parts_are_shares                        ? "parts "
                            : found->other_is_share                          ? "cut "
                                                                             : "all ";
  return which + std::to_string(found->axis) + (found->transposed ? " transposed" : "");
}

TEST(ShareFit, FindsTheDimensionThatIsCut) {
  EXPECT_EQ(fit({{{8, 6}}}, {{4, 6}}, 2), "cut 0");
  EXPECT_EQ(fit({{{8, 6}}}, {{8, 3}}, 2), "cut 1");
  EXPECT_EQ(fit({{{8, 6}}}, {{8, 6}}, 2), "all 0");
  EXPECT_EQ(fit({{{8}}}, {{4}}, 2), "cut 0");
}

TEST(ShareFit, IsTransposedWhereOnlyThatFits) {
  EXPECT_EQ(fit({{{8, 6}}}, {{6, 8}}, 1), "all 1 transposed");
  EXPECT_EQ(fit({{{8, 6}}}, {{6, 4}}, 2), "cut 1 transposed");
  EXPECT_EQ(fit({{{8, 8}}}, {{8, 8}}, 1), "all 0");
  EXPECT_EQ(fit({{{8, 6}}}, {{6, 8}}, 1, {}), "no");
}

// [4, 8] against a share [4, 4] of two ranks: cut along 1, or the transposed [8, 4] along 0.
TEST(ShareFit, BelievesTheOperatorWhereBothFit) {
  const ShareRules transposed = {.may_be_transposed = true, .is_transposed = true};
  EXPECT_EQ(fit({{{4, 8}}}, {{4, 4}}, 2), "cut 1");
  EXPECT_EQ(fit({{{4, 8}}}, {{4, 4}}, 2, transposed), "cut 0 transposed");
  EXPECT_EQ(fit({{{8, 8}}}, {{8, 8}}, 1, transposed), "all 1 transposed");
}

TEST(ShareFit, SharesOutEveryPart) {
  EXPECT_EQ(fit({{{8, 6}}, {{4, 6}}, {{4, 6}}}, {{16, 6}}, 1), "all 0");
  EXPECT_EQ(fit({{{8, 6}}, {{4, 6}}, {{4, 6}}}, {{8, 6}}, 2), "cut 0");
  EXPECT_EQ(fit({{{8, 6}}, {{4, 6}}}, {{6, 6}}, 2), "cut 0");
  EXPECT_EQ(fit({{{8, 6}}, {{4, 6}}}, {{6, 12}}, 1), "all 1 transposed");
  EXPECT_EQ(fit({{{8, 6}}, {{4, 6}}}, {{12, 3}}, 2), "no");           // not along what they give
  EXPECT_EQ(fit({{{8, 6}}, {{2, 6}}, {{2, 6}}}, {{3, 6}}, 4), "no");  // two keys over four ranks
  EXPECT_EQ(fit({{{8, 6}}, {{4, 5}}}, {{12, 6}}, 1), "no");
  EXPECT_EQ(fit({{{8, 6}}, {{4, 6}}}, {{12, 3}}, 2, {.any_dimension = true}),
            "cut 1");  // positions shared out
}

// What several ranks of the parts' side hold, against one rank and against another number of them.
TEST(ShareFit, PartsMayBeSharesThemselves) {
  EXPECT_EQ(fit({{{4, 6}}}, {{8, 6}}, 1, kProjection, 2), "parts 0");
  EXPECT_EQ(fit({{{4, 6}}}, {{6, 8}}, 1, kProjection, 2), "parts 1 transposed");
  EXPECT_EQ(fit({{{4, 6}}, {{2, 6}}}, {{12, 6}}, 1, kProjection, 2), "parts 0");
  EXPECT_EQ(fit({{{4, 6}}, {{2, 6}}}, {{3, 6}}, 4, kProjection, 2), "both 0");
  EXPECT_EQ(fit({{{2, 6}}, {{1, 6}}}, {{6, 6}}, 2, kProjection, 4), "both 0");
  EXPECT_EQ(fit({{{3, 6}}, {{1, 6}}}, {{1, 6}}, 8, kProjection, 2), "no");  // six rows over eight ranks
}

// Ranks that each hold all of it, and as many of both sides that hold the same share.
TEST(ShareFit, LeavesEqualShapesAlone) {
  EXPECT_EQ(fit({{{8, 6}}, {{4, 6}}}, {{12, 6}}, 2, kProjection, 2), "all 0");
  EXPECT_EQ(fit({{{8, 6}}}, {{8, 6}}, 4, kProjection, 2), "all 0");
}

TEST(ShareFit, RefusesWhatDoesNotFit) {
  EXPECT_EQ(fit({}, {{4, 6}}, 2), "no");
  EXPECT_EQ(fit({{{8, 6}}}, {{4, 6}}, 3), "no");
  EXPECT_EQ(fit({{{8, 6}}}, {{4, 3}}, 2), "no");
  EXPECT_EQ(fit({{{8, 6}}}, {{0, 6}}, 2), "no");
  EXPECT_EQ(fit({{{0, 6}}}, {{0, 3}}, 2, kProjection, 2), "cut 1");
  EXPECT_EQ(fit({{{8, 6}}}, {{48}}, 1), "no");
  EXPECT_EQ(fit({{{}}}, {{}}, 1), "no");
  EXPECT_EQ(fit({{{INT64_MAX, 6}}, {{INT64_MAX, 6}}}, {{4, 6}}, 2), "no");
  EXPECT_EQ(fit({{{INT64_MAX, 6}}}, {{3, 6}}, 2, kProjection, 4), "no");
}

TEST(ShareFit, PiecesAreAllOfTheWhole) {
  EXPECT_TRUE(are_all_of({8, 4, 4}, {{16, 6}}, 0));
  EXPECT_TRUE(are_all_of({1, 3}, {{6, 4}}, 1));
  EXPECT_TRUE(are_all_of({1, 3}, {{6, 4}}, -1));
  EXPECT_TRUE(are_all_of({1, 3}, {{4}}, 1));  // a bias has one dimension
  EXPECT_FALSE(are_all_of({8, 4}, {{16, 6}}, 0));
  EXPECT_FALSE(are_all_of({8, -4, 12}, {{16, 6}}, 0));
  EXPECT_FALSE(are_all_of({1}, {{}}, 0));
  EXPECT_FALSE(are_all_of({}, {{0}}, 0));
}

}  // namespace
}  // namespace assay

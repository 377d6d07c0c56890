#include "assay/match/ops/inference.h"
#include "assay/match/ops/op_test_tools.h"

#include <gmock/gmock.h>

namespace assay {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

const Texts kOut = {"after/outtensor0.bin"};

TEST(Token, TakesTheLastOperatorAtTheTop) {
  Frame mine = make_op_frame("atb", {{.path = "2_Norm", .files = kOut},
                                     {.path = "3_LmHead", .files = kOut},
                                     {.path = "3_LmHead/0_Linear", .files = kOut}});
  Frame golden = make_op_frame("pytorch", {{.path = "root", .files = {"output_0.pth"}},
                                           {.path = "root.lm_head", .files = {"output.pth"}},
                                           {.path = "root.model", .files = {"output.pth"}}});
  EXPECT_THAT(pairs_of(match_frames(token_matcher, std::move(mine), std::move(golden), {})),
              ElementsAre("3_LmHead/after/outtensor0.bin|root.lm_head/output.pth"));
}

TEST(Token, SaysThatASideHasNoLogits) {
  Frame mine = make_op_frame("atb", {{.path = "0_LmHead", .files = {"before/intensor0.bin"}}});
  Frame golden = make_op_frame("pytorch", {{.path = "root.lm_head", .files = {"output.pth"}}});
  const Matched matched = match_frames(token_matcher, std::move(mine), std::move(golden), {});
  EXPECT_THAT(pairs_of(matched), ElementsAre("-|root.lm_head/output.pth"));
  EXPECT_THAT(matched.pairing.warnings,
              ElementsAre(HasSubstr("this token has no logits on one of the sides")));
}

TEST(Token, TakesWhateverModuleWasDumpedAlone) {
  Frame mine = make_op_frame("atb", {{.path = "14_Linear", .files = kOut}});
  Frame golden = make_op_frame("pytorch", {{.path = "root.head", .files = {"output.pth"}}});
  EXPECT_THAT(pairs_of(match_frames(token_matcher, std::move(mine), std::move(golden), {})),
              ElementsAre("14_Linear/after/outtensor0.bin|root.head/output.pth"));
}

// One run generated more tokens than the other: the logits of those are rows, the rest of them is not.
TEST(Token, KeepsTheLogitsOfATokenOfOneSide) {
  Matched matched;
  matched.frames.mine.push_back(make_op_frame(
      "atb",
      {{.path = "2_Norm", .files = kOut}, {.path = "3_LmHead", .files = {"before/intensor0.bin", kOut[0]}}}));
  auto pairing = token_matcher.match(matched.frames, {});
  ASSERT_TRUE(pairing.has_value());
  matched.pairing = std::move(*pairing);
  EXPECT_THAT(pairs_of(matched), ElementsAre("3_LmHead/after/outtensor0.bin|-"));
}

}  // namespace
}  // namespace assay

#include "assay/match/keyed/fuzzy.h"

#include "assay/match/keyed/fuzzy_test_tools.h"

#include <gmock/gmock.h>

namespace assay {
namespace {

using ::testing::ElementsAre;

MatchOptions aligned() {
  MatchOptions options;
  options.fuzzy = true;
  return options;
}

TEST(Aligned, PairsTheFixtureByNamesAndShapes) {
  EXPECT_THAT(inputs_of_mine(match_frames(fuzzy_matcher, fixture_mine(), fixture_golden(), aligned())),
              ElementsAre("Torch.add.0.forward.input.0|Torch.add.1.forward.input.0",
                          "Torch.mul.0.forward.input.0|Torch.mul.2.forward.input.0",
                          "Torch.extra.0.forward.input.0|-",
                          "Torch.add.1.forward.input.0|Torch.add.5.forward.input.0",
                          "Functional.relu.0.forward.input.0|Functional.relu.4.forward.input.0",
                          "Torch.tail.0.forward.input.0|-"));
}

Texts aligned_names(const Texts& mine, const Texts& golden) {
  const auto frame = [](const Texts& names) {
    std::vector<TestEntry> entries;
    for (const std::string& name : names) entries.push_back(entry_of(name, {""}));
    return make_frame(entries);
  };
  return pairs_of(match_frames(fuzzy_matcher, frame(mine), frame(golden), aligned()));
}

TEST(Aligned, EqualNamesKeepTheirPairs) {
  const auto matched = match_frames(
      fuzzy_matcher,
      make_frame({entry_of("A.a.0.forward"), entry_of("A.a.1.forward"), entry_of("A.a.2.forward")}),
      make_frame({entry_of("A.a.1.forward"), entry_of("A.a.4.forward")}), aligned());
  EXPECT_THAT(inputs_of_mine(matched),
              ElementsAre("A.a.0.forward.input.0|-", "A.a.1.forward.input.0|A.a.1.forward.input.0",
                          "A.a.2.forward.input.0|A.a.4.forward.input.0"));
  EXPECT_EQ(reasons_of(matched)[2], Why::same_name);
  EXPECT_EQ(reasons_of(matched)[4], Why::same_but_for_call);
}

TEST(Aligned, ACallThatOneSideLacksShiftsNothingBehindTheNextLandmark) {
  // Golden calls add once more before norm; behind norm the calls line up again.
  EXPECT_THAT(aligned_names({"T.add.10.forward", "T.norm.0.forward", "T.add.11.forward", "T.add.12.forward"},
                            {"T.add.20.forward", "T.add.21.forward", "T.norm.5.forward", "T.add.22.forward",
                             "T.add.23.forward"}),
              ElementsAre("T.add.10.forward|T.add.20.forward", "-|T.add.21.forward",
                          "T.norm.0.forward|T.norm.5.forward", "T.add.11.forward|T.add.22.forward",
                          "T.add.12.forward|T.add.23.forward"));
}

TEST(Aligned, TheNumberOfAModuleFollowsTheDirection) {
  EXPECT_THAT(aligned_names({"Module.a.A.forward.3", "Module.b.B.forward.3"},
                            {"Module.a.A.forward.4", "Module.c.B.forward.3"}),
              ElementsAre("Module.a.A.forward.3|Module.a.A.forward.4", "-|Module.c.B.forward.3",
                          "Module.b.B.forward.3|-"));
}

TEST(Aligned, SwappedEntriesThatExistOnceStillPair) {
  EXPECT_THAT(aligned_names({"T.a.0.forward", "T.b.0.forward"}, {"T.b.1.forward", "T.a.1.forward"}),
              ElementsAre("T.a.0.forward|T.a.1.forward", "T.b.0.forward|T.b.1.forward"));
  // Of two calls that crossed the others, nobody knows which is meant.
  EXPECT_THAT(aligned_names({"T.a.0.forward", "T.a.1.forward", "T.b.0.forward"},
                            {"T.b.0.forward", "T.a.1.forward", "T.a.2.forward"}),
              ElementsAre("T.a.0.forward|-", "T.a.1.forward|T.a.1.forward", "-|T.a.2.forward",
                          "T.b.0.forward|T.b.0.forward"));
}

TEST(Aligned, EmptySidesAndOddNamesAreFine) {
  EXPECT_THAT(aligned_names({}, {}), ElementsAre());
  EXPECT_THAT(aligned_names({"T.a.0.forward"}, {}), ElementsAre("T.a.0.forward|-"));
  EXPECT_THAT(aligned_names({"", "."}, {".", ""}), ElementsAre("|-", ".|.", "-|"));
}

TEST(Aligned, IsFast) {
  const auto frame = [](int shift) {
    std::vector<TestEntry> entries;
    for (int i = 0; i < 30'000; ++i)
      entries.push_back(entry_of(fmt::format("Torch.op{}.{}.forward", i % 17, i + shift), {".input.0"}));
    return make_frame(entries);
  };
  EXPECT_EQ(match_frames(fuzzy_matcher, frame(0), frame(100'000), aligned()).pairing.nodes.size(), 30'000);
}

}  // namespace
}  // namespace assay

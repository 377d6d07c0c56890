#include "assay/match/keyed/fuzzy.h"

#include "assay/match/keyed/api.h"
#include "assay/match/match_test_tools.h"

#include <gmock/gmock.h>

#include <deque>
#include <random>

namespace assay {
namespace {

using ::testing::ElementsAre;

std::string stripped(std::string_view name) {
  std::string out = "overwritten";
  strip_as_msprobe(name, out);
  return out;
}

TEST(StripAsMsprobe, CutsTwoPiecesBeforeTheDirection) {
  EXPECT_EQ(stripped("Torch.add.3.forward.input.0"), "Torch.add.forward.input.0");
  EXPECT_EQ(stripped("Torch.add.3.backward.output.1"), "Torch.add.backward.output.1");
  EXPECT_EQ(stripped("x.0.debug"), "x.0.debug");
}

TEST(StripAsMsprobe, KeepsItsQuirks) {
  EXPECT_EQ(stripped("Module.fc.Linear.forward.3.input.0"), "Module.fc.forward.3.input.0");
  // The first "forward" counts, even inside a word, and what follows the second is lost.
  EXPECT_EQ(stripped("Functional.feedforward.0.forward.input.0"), "Functional.forward.0.");
  EXPECT_EQ(stripped("forward"), ".forward");
  EXPECT_EQ(stripped("a.forward"), "a.forward");
}

MatchOptions in_turn(bool wants_shape, Join join = Join::in_order) {
  MatchOptions options;
  options.fuzzy = options.fuzzy_in_turn = true;
  options.fuzzy_wants_shape = wants_shape;
  options.join = join;
  return options;
}

TestEntry shaped(const std::string& name, const std::string& shape) {
  return entry_of(name, {".input.0", ".output.0"}, shape);
}

// The names and shapes of the fixture "fuzzy".
Frame fixture_mine() {
  return make_frame({shaped("Torch.add.0.forward", "[3]"), shaped("Torch.mul.0.forward", "[2, 2]"),
                     shaped("Torch.extra.0.forward", "[2]"), shaped("Torch.add.1.forward", "[4]"),
                     shaped("Functional.relu.0.forward", "[5]"), shaped("Torch.tail.0.forward", "[2]")});
}
Frame fixture_golden() {
  return make_frame({shaped("Torch.add.1.forward", "[3]"), shaped("Torch.benchonly.0.forward", "[7]"),
                     shaped("Torch.mul.2.forward", "[2, 2]"), shaped("Torch.add.5.forward", "[4]"),
                     shaped("Functional.relu.3.forward", "[6]"), shaped("Functional.relu.4.forward", "[5]")});
}

Texts inputs_of_mine(const Matched& matched) {
  Texts out;
  for (const std::string& pair : pairs_of(matched))
    if (!pair.starts_with("-|") && pair.find("input") != std::string::npos) out.push_back(pair);
  return out;
}

TEST(InTurn, GivesThePairsOfMsprobe) {
  const auto with_shape = match_frames(fuzzy_matcher, fixture_mine(), fixture_golden(), in_turn(true));
  EXPECT_THAT(inputs_of_mine(with_shape),
              ElementsAre("Torch.add.0.forward.input.0|Torch.add.1.forward.input.0",
                          "Torch.mul.0.forward.input.0|Torch.mul.2.forward.input.0",
                          "Torch.extra.0.forward.input.0|-",
                          "Torch.add.1.forward.input.0|Torch.add.5.forward.input.0",
                          "Functional.relu.0.forward.input.0|Functional.relu.4.forward.input.0",
                          "Torch.tail.0.forward.input.0|-"));
  EXPECT_EQ(reasons_of(with_shape)[0], Why::same_but_for_call);
  const auto without = match_frames(fuzzy_matcher, fixture_mine(), fixture_golden(), in_turn(false));
  EXPECT_EQ(inputs_of_mine(without)[4],
            "Functional.relu.0.forward.input.0|Functional.relu.3.forward.input.0");
}

TEST(InTurn, LooksAtElementTypesAfterwards) {
  const auto matched =
      match_frames(fuzzy_matcher, make_frame({entry_of("A.a.0.forward", {".input.0"}, "[2]", "Int8")}),
                   make_frame({entry_of("A.a.1.forward", {".input.0"}, "[2]", "Float32")}),
                   in_turn(true, Join::same_shape));
  EXPECT_THAT(pairs_of(matched), ElementsAre("-|A.a.1.forward.input.0", "A.a.0.forward.input.0|-"));
  EXPECT_EQ(reasons_of(matched)[0], Why::other_dtype);
}

TEST(InTurn, UsesTheKeysOfAMapping) {
  MatchOptions options = in_turn(false);
  Mappings mappings;
  mappings.use_api_table = true;
  options.mappings = std::make_shared<const Mappings>(mappings);
  const auto matched = match_frames(api_matcher, make_frame({entry_of("Mint.add.0.forward", {".input.0"})}),
                                    make_frame({entry_of("Torch.add.7.forward", {".input.0"})}), options);
  EXPECT_THAT(pairs_of(matched), ElementsAre("Mint.add.0.forward.input.0|Torch.add.7.forward.input.0"));
}

// The procedure word for word: two queues, searched from the front.
std::vector<std::pair<size_t, size_t>> two_queues(const std::vector<int>& mine,
                                                  const std::vector<int>& golden) {
  std::deque<size_t> ours, theirs;
  std::vector<std::pair<size_t, size_t>> pairs;
  for (size_t i = 0; i < std::max(mine.size(), golden.size()); ++i) {
    if (i < mine.size()) ours.push_back(i);
    if (i < golden.size()) theirs.push_back(i);
    if (ours.empty() != theirs.empty()) break;
    size_t m = ours.size(), g = theirs.size();
    for (size_t at = 0; at < theirs.size() && m == ours.size(); ++at)
      if (mine[ours.back()] == golden[theirs[at]]) {
        m = ours.size() - 1;
        g = at;
        break;
      }
    for (size_t at = 0; at < ours.size() && g == theirs.size(); ++at)
      if (mine[ours[at]] == golden[theirs.back()]) {
        m = at;
        g = theirs.size() - 1;
        break;
      }
    if (m == ours.size()) continue;
    pairs.emplace_back(ours[m], theirs[g]);
    ours.erase(ours.begin(), ours.begin() + static_cast<std::ptrdiff_t>(m) + 1);
    theirs.erase(theirs.begin(), theirs.begin() + static_cast<std::ptrdiff_t>(g) + 1);
  }
  return pairs;
}

TEST(InTurn, AgreesWithTwoQueuesSearchedFromTheFront) {
  std::mt19937 random(1);
  const auto sequence = [&](int kinds) {
    std::vector<int> labels(random() % 13);
    for (int& label : labels) label = static_cast<int>(random() % static_cast<unsigned>(kinds));
    return labels;
  };
  const auto frame = [](const std::vector<int>& labels) {
    std::vector<TestEntry> entries;
    for (size_t i = 0; i < labels.size(); ++i)
      entries.push_back(entry_of(fmt::format("T.op{}.{}.forward", labels[i], i), {".input.0"}));
    return make_frame(entries);
  };
  for (int round = 0; round < 4000; ++round) {
    const int kinds = 1 + round % 7;
    const std::vector<int> mine = sequence(kinds), golden = sequence(kinds);
    const auto matched = match_frames(fuzzy_matcher, frame(mine), frame(golden), in_turn(round % 2 == 0));
    std::vector<std::pair<size_t, size_t>> pairs;
    for (const PairedNode& node : matched.pairing.nodes)
      for (const Pair& pair : node.pairs)
        if (pair.mine && pair.golden)
          pairs.emplace_back(static_cast<size_t>(pair.mine->node), static_cast<size_t>(pair.golden->node));
    ASSERT_EQ(pairs, two_queues(mine, golden)) << "round " << round;
  }
}

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

TEST(Fuzzy, IsFast) {
  const auto frame = [](int shift) {
    std::vector<TestEntry> entries;
    for (int i = 0; i < 30'000; ++i)
      entries.push_back(entry_of(fmt::format("Torch.op{}.{}.forward", i % 17, i + shift), {".input.0"}));
    return make_frame(entries);
  };
  for (const bool turn : {false, true}) {
    MatchOptions options = in_turn(false);
    options.fuzzy_in_turn = turn;
    const auto matched = match_frames(fuzzy_matcher, frame(0), frame(100'000), options);
    EXPECT_EQ(matched.pairing.nodes.size(), 30'000);
  }
  // Nothing fits: the two queues of msprobe would look at 900 million pairs.
  std::vector<TestEntry> mine, golden;
  for (int i = 0; i < 30'000; ++i) {
    mine.push_back(entry_of(fmt::format("Torch.a{}.0.forward", i), {".input.0"}));
    golden.push_back(entry_of(fmt::format("Torch.b{}.0.forward", i), {".input.0"}));
  }
  EXPECT_EQ(
      match_frames(fuzzy_matcher, make_frame(mine), make_frame(golden), in_turn(false)).pairing.nodes.size(),
      60'000);
}

}  // namespace
}  // namespace assay

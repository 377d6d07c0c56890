#include "assay/compat/msprobe/joins.h"

#include "assay/match/keyed/api.h"
#include "assay/match/keyed/entry.h"
#include "assay/match/keyed/fuzzy.h"
#include "assay/match/keyed/fuzzy_test_tools.h"

#include <gmock/gmock.h>

#include <deque>
#include <random>

namespace assay {
namespace {

using ::testing::ElementsAre;

std::string stripped(std::string_view name) {
  std::string out = "overwritten";
  strip_call_of_msprobe(name, out);
  return out;
}

TEST(StripCall, CutsTwoPiecesBeforeTheDirection) {
  EXPECT_EQ(stripped("Torch.add.3.forward.input.0"), "Torch.add.forward.input.0");
  EXPECT_EQ(stripped("Torch.add.3.backward.output.1"), "Torch.add.backward.output.1");
  EXPECT_EQ(stripped("x.0.debug"), "x.0.debug");
}

TEST(StripCall, KeepsItsQuirks) {
  EXPECT_EQ(stripped("Module.fc.Linear.forward.3.input.0"), "Module.fc.forward.3.input.0");
  // The first "forward" counts, even inside a word, and what follows the second is lost.
  EXPECT_EQ(stripped("Functional.feedforward.0.forward.input.0"), "Functional.forward.0.");
  EXPECT_EQ(stripped("forward"), ".forward");
  EXPECT_EQ(stripped("a.forward"), "a.forward");
}

MatchOptions in_turn(Generation generation, Mappings mappings = {}) {
  MatchOptions options;
  options.fuzzy = true;
  options.join_fuzzily = msprobe_fuzzy_join(generation, mappings);
  options.mappings = std::make_shared<const Mappings>(std::move(mappings));
  return options;
}

TEST(InTurn, GivesThePairsOfMsprobe) {
  const auto with_shape =
      match_frames(fuzzy_matcher, fixture_mine(), fixture_golden(), in_turn(Generation::g2));
  EXPECT_THAT(inputs_of_mine(with_shape),
              ElementsAre("Torch.add.0.forward.input.0|Torch.add.1.forward.input.0",
                          "Torch.mul.0.forward.input.0|Torch.mul.2.forward.input.0",
                          "Torch.extra.0.forward.input.0|-",
                          "Torch.add.1.forward.input.0|Torch.add.5.forward.input.0",
                          "Functional.relu.0.forward.input.0|Functional.relu.4.forward.input.0",
                          "Torch.tail.0.forward.input.0|-"));
  EXPECT_EQ(reasons_of(with_shape)[0], Why::same_but_for_call);
  const auto without = match_frames(fuzzy_matcher, fixture_mine(), fixture_golden(), in_turn(Generation::g3));
  EXPECT_EQ(inputs_of_mine(without)[4],
            "Functional.relu.0.forward.input.0|Functional.relu.3.forward.input.0");
}

TEST(InTurn, LooksAtElementTypesAfterwards) {
  const auto matched = match_frames(
      fuzzy_matcher, make_frame({entry_of("A.a.0.forward", {".input.0"}, "[2]", "Int8")}),
      make_frame({entry_of("A.a.1.forward", {".input.0"}, "[2]", "Float32")}), in_turn(Generation::g2));
  EXPECT_THAT(pairs_of(matched), ElementsAre("-|A.a.1.forward.input.0", "A.a.0.forward.input.0|-"));
  EXPECT_EQ(reasons_of(matched)[0], Why::other_dtype);
}

TEST(InTurn, UsesTheKeysOfAMapping) {
  Mappings mappings;
  mappings.use_api_table = true;
  const MatchOptions options = in_turn(Generation::g3, mappings);
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
    const auto matched = match_frames(fuzzy_matcher, frame(mine), frame(golden),
                                      in_turn(round % 2 == 0 ? Generation::g2 : Generation::g3));
    std::vector<std::pair<size_t, size_t>> pairs;
    for (const PairedNode& node : matched.pairing.nodes)
      for (const Pair& pair : node.pairs)
        if (pair.mine && pair.golden)
          pairs.emplace_back(static_cast<size_t>(pair.mine->node), static_cast<size_t>(pair.golden->node));
    ASSERT_EQ(pairs, two_queues(mine, golden)) << "round " << round;
  }
}

TEST(InTurn, IsFast) {
  const auto frame = [](int shift) {
    std::vector<TestEntry> entries;
    for (int i = 0; i < 30'000; ++i)
      entries.push_back(entry_of(fmt::format("Torch.op{}.{}.forward", i % 17, i + shift), {".input.0"}));
    return make_frame(entries);
  };
  EXPECT_EQ(
      match_frames(fuzzy_matcher, frame(0), frame(100'000), in_turn(Generation::g3)).pairing.nodes.size(),
      30'000);
  // Nothing fits: the two queues of msprobe would look at 900 million pairs.
  std::vector<TestEntry> mine, golden;
  for (int i = 0; i < 30'000; ++i) {
    mine.push_back(entry_of(fmt::format("Torch.a{}.0.forward", i), {".input.0"}));
    golden.push_back(entry_of(fmt::format("Torch.b{}.0.forward", i), {".input.0"}));
  }
  EXPECT_EQ(match_frames(fuzzy_matcher, make_frame(mine), make_frame(golden), in_turn(Generation::g3))
                .pairing.nodes.size(),
            60'000);
}

TestEntry one_row(const std::string& entry, const std::string& row, const std::string& shape = "[2]",
                  const std::string& dtype = "Float32") {
  return {entry, {{row, dtype, shape}}};
}

MatchOptions joined_as(Generation generation) {
  MatchOptions options;
  options.join = msprobe_join(generation, {});
  return options;
}

TEST(MsprobeJoin, WantsTheSameShape) {
  const auto matched = match_frames(
      entry_matcher,
      make_frame({one_row("a", "x"), one_row("b", "x"), one_row("c", "y", "[3]"), one_row("d", "z"),
                  one_row("e", "none")}),
      make_frame({one_row("a", "x"), one_row("b", "x", "[9]"), one_row("c", "x"), one_row("d", "y", "[4]"),
                  one_row("e", "z", "[2]", "Int32"), one_row("f", "only")}),
      joined_as(Generation::g2));
  EXPECT_THAT(pairs_of(matched),
              ElementsAre("x|x", "x|x", "-|x", "-|y", "-|z", "-|only", "x|x", "x|x", "y|-", "z|-", "none|-"));
  EXPECT_THAT(reasons_of(matched), ElementsAre(Why::same_name, Why::same_name, Why::same_name, Why::same_name,
                                               Why::other_shape, Why::other_dtype, Why::nothing_fits));
}

TEST(MsprobeJoin, OfGeneration3IgnoresShapes) {
  const auto matched = match_frames(
      entry_matcher, make_frame({one_row("a", "x", "[2]", "Float16"), one_row("b", "y", "[2]", "Int8")}),
      make_frame({one_row("a", "x", "[3]"), one_row("b", "y")}), joined_as(Generation::g3));
  EXPECT_THAT(pairs_of(matched), ElementsAre("x|x", "-|y", "y|-"));
  EXPECT_EQ(reasons_of(matched)[1], Why::other_dtype);
}

// As the folders of the fixture "multi_rank" are paired.
TEST(RankOrder, OfGeneration1IsThatOfNames) {
  std::vector<int> mine = {0, 1, 2}, golden = {4, 5, 10};
  order_ranks_by_name(mine, golden);
  EXPECT_THAT(mine, ElementsAre(0, 1, 2));
  EXPECT_THAT(golden, ElementsAre(10, 4, 5));
  mine = golden = {2, 10};
  order_ranks_by_name(mine, golden);
  EXPECT_THAT(mine, ElementsAre(10, 2));
  EXPECT_THAT(golden, ElementsAre(10, 2));
}

}  // namespace
}  // namespace assay

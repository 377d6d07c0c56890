#include "assay/compat/msprobe/entries_in_turn.h"

#include "assay/match/match_test_tools.h"

#include <gmock/gmock.h>

namespace assay {
namespace {

using testing::AllOf;
using testing::Contains;
using testing::Each;
using testing::ElementsAre;
using testing::HasSubstr;

// The directions follow from the names, as they do in a dump.
Frame frame_of(const std::vector<TestEntry>& entries) {
  Frame frame = make_frame(entries, "pytorch");
  for (Node& node : frame.nodes)
    for (Item& item : node.items) {
      const auto has = [&](std::string_view word) { return item.name.find(word) != std::string_view::npos; };
      item.port.direction = has(".parameters.") ? Direction::parameter
                            : has(".output.")   ? Direction::output
                                                : Direction::input;
    }
  return frame;
}

MatchOptions turn_options(bool fuzzy = false) {
  MatchOptions options;
  options.fuzzy = fuzzy;
  return options;
}

TestEntry call(const std::string& name, const std::string& shape = "[2, 3]",
               const std::string& dtype = "torch.float32") {
  return entry_of(name + ".forward", {".input.0", ".output.0"}, shape, dtype);
}

Matched turn(const std::vector<TestEntry>& mine, const std::vector<TestEntry>& golden, bool fuzzy = false) {
  return match_frames(entries_in_turn_matcher, frame_of(mine), frame_of(golden), turn_options(fuzzy));
}

// The calls that were joined, by their inputs: "a.0|a.0".
Texts joined_calls(const Matched& matched) {
  Texts out;
  for (const std::string& pair : pairs_of(matched)) {
    if (!pair.ends_with(".input.0") || pair.starts_with("-")) continue;
    constexpr std::string_view kRest = ".forward.input.0";
    std::string text = pair;
    for (size_t at = text.find(kRest); at != std::string::npos; at = text.find(kRest))
      text.erase(at, kRest.size());
    out.push_back(text);
  }
  return out;
}

TEST(EntriesInTurn, ChosenWhereItIsGiven) {
  MatchOptions options = turn_options(true);
  options.given = std::make_shared<const Matcher>(entries_in_turn_matcher);
  ASSERT_TRUE(choose_matcher("msprobe", "msprobe", options));
  EXPECT_EQ(*choose_matcher("msprobe", "msprobe", options), options.given.get());
}

TEST(EntriesInTurn, ACallThatOnlyOneSideHasIsSteppedOver) {
  EXPECT_THAT(joined_calls(turn({call("T.a.0"), call("T.only.0"), call("T.b.0")},
                                {call("T.a.0"), call("T.b.0"), call("T.c.0")})),
              ElementsAre("T.a.0|T.a.0", "T.b.0|T.b.0"));
}

// Calls in another order: the first match throws away what waited before it.
TEST(EntriesInTurn, WhatWaitedBeforeAMatchIsLost) {
  const Matched matched =
      turn({call("T.a.0"), call("T.b.0"), call("T.c.0")}, {call("T.b.0"), call("T.a.0"), call("T.c.0")});
  // Step 2 reads mine b, golden a; b is the newest of mine and fits golden's b; a waited before it.
  EXPECT_THAT(joined_calls(matched), ElementsAre("T.b.0|T.b.0", "T.c.0|T.c.0"));
  EXPECT_EQ(reasons_of(matched)[0], Why::nothing_fits);
}

TEST(EntriesInTurn, EndsWhereOneQueueIsEmptyAndTheOtherIsNot) {
  const Matched matched = turn({call("T.a.0"), call("T.b.0"), call("T.c.0"), call("T.d.0")}, {call("T.a.0")});
  EXPECT_THAT(reasons_of(matched),
              ElementsAre(Why::same_name, Why::same_name, Why::nothing_fits, Why::nothing_fits,
                          Why::not_reached, Why::not_reached, Why::not_reached, Why::not_reached));
}

TEST(EntriesInTurn, AnEntryWithoutRowsTakesItsTurn) {
  // Step 1 reads nothing on one side and a call on the other: the original stops there.
  const Matched matched = turn({TestEntry{"T.empty.0.forward"}, call("T.a.0")}, {call("T.a.0")});
  EXPECT_THAT(reasons_of(matched), ElementsAre(Why::not_reached, Why::not_reached));
  // On both sides it changes nothing.
  EXPECT_THAT(joined_calls(turn({TestEntry{"T.empty.0.forward"}, call("T.a.0")},
                                {TestEntry{"T.empty.0.forward"}, call("T.a.0")})),
              ElementsAre("T.a.0|T.a.0"));
}

TEST(EntriesInTurn, WantsEqualShapesOfAllRows) {
  TestEntry mine = call("T.a.0"), golden = call("T.a.0");
  golden.rows[1].shape = "[2, 4]";
  EXPECT_THAT(joined_calls(turn({mine}, {golden})), ElementsAre());
}

TEST(EntriesInTurn, WantsEqualNamesOfAllRows) {
  TestEntry golden = call("T.a.0");
  golden.rows.push_back({"T.a.0.forward.output.1"});
  EXPECT_THAT(joined_calls(turn({call("T.a.0")}, {golden})), ElementsAre());
}

TEST(EntriesInTurn, CompatibleTypesFit) {
  const auto fit = [](const std::string& a, const std::string& b) {
    return !joined_calls(turn({call("T.a.0", "[2]", a)}, {call("T.a.0", "[2]", b)})).empty();
  };
  EXPECT_TRUE(fit("torch.float16", "torch.float32"));
  EXPECT_TRUE(fit("torch.bfloat16", "torch.float16"));
  EXPECT_FALSE(fit("torch.bfloat16", "torch.float32"));
  EXPECT_FALSE(fit("torch.int32", "torch.int64"));
}

TEST(EntriesInTurn, WithoutInputsOrOutputsTypesMustBeEqual) {
  for (const std::string rest : {".input.0", ".output.0"}) {
    const auto entry = [&](const std::string& dtype) {
      return entry_of("T.a.0.forward", {rest}, "[2]", dtype);
    };
    EXPECT_THAT(reasons_of(turn({entry("torch.float16")}, {entry("torch.float32")})),
                Each(Why::nothing_fits));
    EXPECT_THAT(reasons_of(turn({entry("torch.float16")}, {entry("torch.float16")})), Each(Why::same_name));
  }
}

TEST(EntriesInTurn, WithoutOutputsChecksumsMustBeEqualToo) {
  const auto frame = [](std::string_view checksum) {
    Frame made = frame_of({entry_of("T.a.0.forward", {".input.0"})});
    made.content = Content::checksums;
    made.stated[0].checksum = checksum;
    return made;
  };
  const auto reasons = [&](std::string_view a, std::string_view b) {
    return reasons_of(match_frames(entries_in_turn_matcher, frame(a), frame(b), turn_options()));
  };
  EXPECT_THAT(reasons("11111111", "22222222"), ElementsAre(Why::nothing_fits));
  EXPECT_THAT(reasons("11111111", "11111111"), ElementsAre(Why::same_name));
}

TEST(EntriesInTurn, FuzzyNamesMayDifferInTheirCalls) {
  const Matched matched = turn({call("T.a.3"), call("T.b.0")}, {call("T.a.0"), call("T.b.7")}, true);
  EXPECT_THAT(joined_calls(matched), ElementsAre("T.a.3|T.a.0", "T.b.0|T.b.7"));
  EXPECT_THAT(reasons_of(matched), Each(Why::same_but_for_call));
  EXPECT_THAT(joined_calls(turn({call("T.a.3")}, {call("T.a.0")})), ElementsAre());
}

// The oldest that fits, also behind one whose types do not.
TEST(EntriesInTurn, LooksPastEntriesOfOtherTypes) {
  const Matched matched = turn(
      {call("T.x.0"), call("T.x.1"), call("T.a.2", "[2]", "torch.float16")},
      {call("T.a.0", "[2]", "torch.int32"), call("T.a.1", "[2]", "torch.bfloat16"), call("T.y.0")}, true);
  EXPECT_THAT(joined_calls(matched), Contains("T.a.2|T.a.1"));
}

TEST(EntriesInTurn, ParametersArePairedByNameAndDoNotCount) {
  TestEntry mine = call("T.a.0"), golden = call("T.a.0");
  mine.rows.push_back({"T.a.0.forward.parameters.weight", "Float32", "[1]"});
  golden.rows.push_back({"T.a.0.forward.parameters.weight", "Float32", "[2]"});
  EXPECT_THAT(pairs_of(turn({mine}, {golden})),
              AllOf(Contains("T.a.0.forward.input.0|T.a.0.forward.input.0"),
                    Contains("T.a.0.forward.parameters.weight|T.a.0.forward.parameters.weight")));
}

TEST(EntriesInTurn, RefusesANameWithTooManyListsOfTypes) {
  std::vector<TestEntry> mine;
  for (int i = 0; i <= 10'000; ++i)
    mine.push_back(call("T.a." + std::to_string(i), "[2]", "type" + std::to_string(i)));
  Indexed frames;
  frames.mine.push_back(frame_of(mine));
  frames.golden.push_back(frame_of({call("T.a.0")}));
  const auto pairing = entries_in_turn_matcher.match(frames, turn_options(true));
  ASSERT_FALSE(pairing);
  EXPECT_EQ(pairing.error().kind, ErrorKind::limit);
  EXPECT_THAT(pairing.error().message, HasSubstr("T.a.10000.forward"));
}

TEST(EntriesInTurn, EmptySides) {
  EXPECT_THAT(pairs_of(turn({}, {})), ElementsAre());
  EXPECT_THAT(reasons_of(turn({call("T.a.0"), call("T.b.0")}, {})),
              ElementsAre(Why::nothing_fits, Why::nothing_fits, Why::not_reached, Why::not_reached));
}

}  // namespace
}  // namespace assay

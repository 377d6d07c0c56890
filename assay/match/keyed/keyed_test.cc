#include "assay/match/keyed/keyed.h"

#include "assay/match/keyed/entry.h"
#include "assay/match/keyed/entry_name.h"
#include "assay/match/match_test_tools.h"

#include <gmock/gmock.h>

namespace assay {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

TestEntry one_row(const std::string& entry, const std::string& row, const std::string& shape = "[2]",
                  const std::string& dtype = "Float32") {
  return {entry, {{row, dtype, shape}}};
}

MatchOptions joining_every() {
  MatchOptions options;
  options.join.every = true;
  return options;
}

TEST(EntryName, FindsTheCall) {
  const auto api = find_call("Torch.add.3.backward");
  ASSERT_TRUE(api);
  EXPECT_EQ(api->begin, 9);
  EXPECT_TRUE(api->is_backward);
  const auto module = find_call("Module.fc.Linear.forward.12");
  ASSERT_TRUE(module);
  EXPECT_EQ(module->begin, 16);
  EXPECT_FALSE(module->is_backward);
  for (const std::string_view none :
       {"", ".", "..", "forward", "0.forward", "Torch.add.x.forward", "x.0.debug"})
    EXPECT_FALSE(find_call(none)) << none;
}

TEST(EntryName, StripsTheCallOnly) {
  std::string out;
  const auto stripped = [&](std::string_view name) {
    strip_call(name, out);
    return out;
  };
  EXPECT_EQ(stripped("Torch.add.3.forward"), "Torch.add.forward");
  EXPECT_EQ(stripped("Module.0.fc.Linear.backward.3"), "Module.0.fc.Linear.backward");
  EXPECT_EQ(stripped("Module.fc.Linear.parameters_grad.0"), "Module.fc.Linear.parameters_grad");
  EXPECT_EQ(stripped("Module.fc.Linear.parameters_grad"), "Module.fc.Linear.parameters_grad");
  EXPECT_EQ(stripped("x.0.debug"), "x.0.debug");
}

TEST(EntryName, SplitsKeysWhoseFirstWordsWereReplaced) {
  EXPECT_EQ(split_key("Torch.add.1.forward.input.0", "Torch.add.1.forward").rest, ".input.0");
  const SplitKey mapped = split_key("Torch.add.1.forward.input.0", "Mint.add.1.forward");
  EXPECT_EQ(mapped.entry, "Torch.add.1.forward");
  EXPECT_EQ(mapped.rest, ".input.0");
  EXPECT_EQ(split_key("Torch.add.1.forwards", "Torch.add.1.forward").entry, "");
  EXPECT_EQ(split_key("other", "Torch.add.1.forward").rest, "other");
}

TEST(Entry, JoinsRepeatedNamesInOrder) {
  const auto matched =
      match_frames(entry_matcher, make_frame({one_row("a", "x"), one_row("b", "x"), one_row("c", "x")}),
                   make_frame({one_row("a", "x", "[3]"), one_row("b", "x")}), {});
  EXPECT_THAT(pairs_of(matched), ElementsAre("x|x", "x|x", "x|-"));
  EXPECT_EQ(matched.pairing.nodes[1].pairs[0].golden, (ItemId{0, 1, 0}));
  EXPECT_THAT(reasons_of(matched), ElementsAre(Why::same_name, Why::same_name, Why::nothing_fits));
}

TEST(Entry, AllJoinsEveryOneWithEveryOne) {
  const auto matched =
      match_frames(entry_matcher, make_frame({one_row("a", "x"), one_row("b", "x")}),
                   make_frame({one_row("a", "x", "[3]"), one_row("b", "x", "[4]", "Int8")}), joining_every());
  EXPECT_EQ(pairs_of(matched).size(), 4);
  EXPECT_EQ(matched.pairing.nodes[1].pairs[0].golden, (ItemId{0, 0, 0}));
  EXPECT_EQ(matched.pairing.nodes[1].pairs[1].golden, (ItemId{0, 1, 0}));
}

// What speaks against the last of several is told, but for another type, which outweighs another shape.
TEST(Entry, AnObjectionKeepsTwoItemsApart) {
  MatchOptions options = joining_every();
  options.join.objection = [](const Indexed&) -> Objection {
    return [](const Item& mine, const Item& golden) -> std::optional<Why> {
      if (stated_shape(mine) != stated_shape(golden)) return Why::other_shape;
      if (stated_dtype(mine) != stated_dtype(golden)) return Why::other_dtype;
      return std::nullopt;
    };
  };
  const auto matched =
      match_frames(entry_matcher, make_frame({one_row("a", "x"), one_row("b", "y"), one_row("c", "z")}),
                   make_frame({one_row("a", "x", "[3]"), one_row("b", "x", "[2]", "Int8"),
                               one_row("c", "x", "[4]"), one_row("d", "y"), one_row("e", "z", "[9]")}),
                   options);
  EXPECT_THAT(reasons_of(matched), ElementsAre(Why::other_dtype, Why::same_name, Why::other_shape));
}

TEST(Entry, ItemsWithoutNameOrStatementAreFine) {
  Frame mine = make_frame({{"a", {{""}, {"x"}}}}), golden = make_frame({{"a", {{""}, {"x"}}}});
  mine.nodes[0].items[1].stated = nullptr;
  const auto matched = match_frames(entry_matcher, std::move(mine), std::move(golden), joining_every());
  EXPECT_THAT(reasons_of(matched), ElementsAre(Why::nothing_fits, Why::same_name));
}

TEST(Entry, RefusesToMultiplyRepeatedNames) {
  std::vector<TestItem> rows(3000, TestItem{"x"});
  Indexed frames;
  frames.mine.push_back(make_frame({{"a", rows}}));
  frames.golden.push_back(make_frame({{"a", rows}}));
  const auto pairing = entry_matcher.match(frames, joining_every());
  ASSERT_FALSE(pairing);
  EXPECT_EQ(pairing.error().kind, ErrorKind::limit);
  EXPECT_THAT(pairing.error().message, HasSubstr("'x' is 3000 times in golden"));
}

TEST(Entry, TakesTheStackOfMineAndOfGoldenAlone) {
  TestEntry mine = entry_of("A.a.0.forward"), golden = mine, alone = entry_of("B.b.0.forward");
  mine.stack = {"mine"};
  golden.stack = {"golden"};
  alone.stack = {"alone"};
  const auto matched = match_frames(entry_matcher, make_frame({mine}), make_frame({golden, alone}), {});
  ASSERT_EQ(matched.pairing.nodes.size(), 2);
  EXPECT_EQ(matched.pairing.nodes[0].stack[0], "mine");
  EXPECT_EQ(matched.pairing.nodes[1].stack[0], "alone");
}

TEST(PairingBuilder, PutsLeftoversOfGoldenBehindTheFirstOfSeveralPartners) {
  Indexed frames;
  frames.mine.push_back(make_frame({{"n", {{"a"}, {"b"}}}, {"o", {{"c"}}}}));
  frames.golden.push_back(make_frame({{"n", {{"x"}, {"left"}}}, {"p", {{"own"}}}}));
  PairingBuilder builder(frames);
  builder.join(2, 0, Why::data_mapping);
  builder.join(0, 0, Why::data_mapping);
  builder.explain(1, Why::left_out);
  EXPECT_EQ(builder.joined(), 2);
  EXPECT_TRUE(builder.is_joined(Side::golden, 0));
  EXPECT_FALSE(builder.is_joined(Side::golden, 1));
  Pairing pairing = builder.finish();
  const Matched matched{std::move(frames), std::move(pairing)};
  EXPECT_THAT(pairs_of(matched), ElementsAre("a|x", "b|-", "c|x", "-|left", "-|own"));
  EXPECT_EQ(reasons_of(matched)[1], Why::left_out);
}

TEST(Renumber, CountsBackwardCallsAnewOnBothSides) {
  MatchOptions options = joining_every();
  options.renumber_backward = true;
  // Mine was recomputed: its calls of backward are 1 and 0, those of golden 2 and 5. Forward is left alone.
  const auto matched = match_frames(
      entry_matcher,
      make_frame({entry_of("Torch.add.1.forward", {".input.0"}),
                  entry_of("Torch.add.1.backward", {".input.0"}),
                  entry_of("Torch.add.0.backward", {".input.0", ".output.0"}),
                  entry_of("Module.a.B.backward.7", {".input.0"})}),
      make_frame(
          {entry_of("Torch.add.1.forward", {".input.0"}), entry_of("Torch.add.2.backward", {".input.0"}),
           entry_of("Torch.add.5.backward", {".input.0"}), entry_of("Module.a.B.backward.0", {".input.0"})}),
      options);
  EXPECT_THAT(pairs_of(matched), ElementsAre("Torch.add.1.forward.input.0|Torch.add.1.forward.input.0",
                                             "Torch.add.1.backward.input.0|Torch.add.2.backward.input.0",
                                             "Torch.add.0.backward.input.0|Torch.add.5.backward.input.0",
                                             "Torch.add.0.backward.output.0|-",
                                             "Module.a.B.backward.7.input.0|Module.a.B.backward.0.input.0"));
}

TEST(Entry, IsLinear) {
  std::vector<TestEntry> entries;
  for (int i = 0; i < 20'000; ++i)
    entries.push_back(entry_of(fmt::format("Torch.add.{}.backward", i), {".input.0", ".output.0"}));
  MatchOptions options = joining_every();
  options.renumber_backward = true;
  const auto matched = match_frames(entry_matcher, make_frame(entries), make_frame(entries), options);
  EXPECT_EQ(matched.pairing.nodes.size(), 20'000);
  // Every item of mine alone: no scan through golden.
  const auto alone =
      match_frames(entry_matcher, make_frame(entries), make_frame({{"one", {{"x"}}}}), options);
  EXPECT_EQ(alone.pairing.nodes.size(), 20'001);
}

}  // namespace
}  // namespace assay

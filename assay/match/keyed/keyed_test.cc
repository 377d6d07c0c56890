#include "assay/match/keyed/keyed.h"

#include "assay/match/keyed/dtype_rule.h"
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

MatchOptions with_join(Join join) {
  MatchOptions options;
  options.join = join;
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

TEST(CompatibleTypes, FollowTheTable) {
  Indexed frames;
  frames.mine.push_back(make_frame({}, "mindspore"));
  frames.golden.push_back(make_frame({}, "mindspore"));
  MatchOptions options;
  const CompatibleTypes g2(frames, options);
  EXPECT_TRUE(g2("Float32", "BFloat16"));
  EXPECT_TRUE(g2("torch.float16", "torch.bfloat16"));
  EXPECT_TRUE(g2("<class 'int'>", "<class 'int'>"));
  EXPECT_FALSE(g2("Float32", "Float64"));
  EXPECT_FALSE(g2("Float32", "torch.float32"));
  EXPECT_FALSE(g2("Int32", "Int64"));
  EXPECT_FALSE(g2("", "Float32"));
  options.dtype_rule = DTypeRule::g1;
  const CompatibleTypes g1(frames, options);
  EXPECT_TRUE(g1("Float16", "Float32"));
  EXPECT_TRUE(g1("BFloat16", "Float16"));
  EXPECT_FALSE(g1("Float32", "BFloat16"));
}

TEST(CompatibleTypes, AcrossFrameworks) {
  Indexed frames;
  frames.mine.push_back(make_frame({}, "mindspore"));
  frames.golden.push_back(make_frame({}, "pytorch"));
  MatchOptions options;
  const CompatibleTypes g2(frames, options);
  EXPECT_TRUE(g2("Float32", "torch.float64"));
  EXPECT_TRUE(g2("UInt8", "torch.int64"));
  EXPECT_TRUE(g2("Bool", "torch.bool"));
  EXPECT_TRUE(g2("Complex64", "torch.complex128"));
  EXPECT_FALSE(g2("Float32", "torch.int32"));
  EXPECT_FALSE(g2("float32", "torch.float32"));  // numpy's name is in no table
  options.dtype_rule = DTypeRule::g1;
  EXPECT_FALSE(CompatibleTypes(frames, options)("Float32", "torch.float32"));  // only with a mapping
  Mappings mappings;
  mappings.use_api_table = true;
  options.mappings = std::make_shared<const Mappings>(mappings);
  const CompatibleTypes g1(frames, options);
  EXPECT_TRUE(g1("Float32", "torch.float32"));
  EXPECT_TRUE(g1("Float16", "torch.bfloat16"));
  EXPECT_FALSE(g1("Float32", "torch.float64"));
}

TEST(Entry, JoinsRepeatedNamesInOrder) {
  const auto matched =
      match_frames(entry_matcher, make_frame({one_row("a", "x"), one_row("b", "x"), one_row("c", "x")}),
                   make_frame({one_row("a", "x", "[3]"), one_row("b", "x")}), {});
  EXPECT_THAT(pairs_of(matched), ElementsAre("x|x", "x|x", "x|-"));
  EXPECT_EQ(matched.pairing.nodes[1].pairs[0].golden, (ItemId{0, 1, 0}));
  EXPECT_THAT(reasons_of(matched), ElementsAre(Why::same_name, Why::same_name, Why::nothing_fits));
}

TEST(Entry, SameShapeIsTheOuterJoinOfMsprobe) {
  const auto matched = match_frames(
      entry_matcher,
      make_frame({one_row("a", "x"), one_row("b", "x"), one_row("c", "y", "[3]"), one_row("d", "z"),
                  one_row("e", "none")}),
      make_frame({one_row("a", "x"), one_row("b", "x", "[9]"), one_row("c", "x"), one_row("d", "y", "[4]"),
                  one_row("e", "z", "[2]", "Int32"), one_row("f", "only")}),
      with_join(Join::same_shape));
  EXPECT_THAT(pairs_of(matched),
              ElementsAre("x|x", "x|x", "-|x", "-|y", "-|z", "-|only", "x|x", "x|x", "y|-", "z|-", "none|-"));
  EXPECT_THAT(reasons_of(matched), ElementsAre(Why::same_name, Why::same_name, Why::same_name, Why::same_name,
                                               Why::other_shape, Why::other_dtype, Why::nothing_fits));
}

TEST(Entry, SameDtypeIgnoresShapes) {
  const auto matched = match_frames(
      entry_matcher, make_frame({one_row("a", "x", "[2]", "Float16"), one_row("b", "y", "[2]", "Int8")}),
      make_frame({one_row("a", "x", "[3]"), one_row("b", "y")}), with_join(Join::same_dtype));
  EXPECT_THAT(pairs_of(matched), ElementsAre("x|x", "-|y", "y|-"));
  EXPECT_EQ(reasons_of(matched)[1], Why::other_dtype);
}

TEST(Entry, AllJoinsEveryOneWithEveryOne) {
  const auto matched = match_frames(entry_matcher, make_frame({one_row("a", "x"), one_row("b", "x")}),
                                    make_frame({one_row("a", "x", "[3]"), one_row("b", "x", "[4]", "Int8")}),
                                    with_join(Join::all));
  EXPECT_EQ(pairs_of(matched).size(), 4);
  EXPECT_EQ(matched.pairing.nodes[1].pairs[0].golden, (ItemId{0, 0, 0}));
  EXPECT_EQ(matched.pairing.nodes[1].pairs[1].golden, (ItemId{0, 1, 0}));
}

TEST(Entry, ItemsWithoutNameOrStatementAreFine) {
  Frame mine = make_frame({{"a", {{""}, {"x"}}}}), golden = make_frame({{"a", {{""}, {"x"}}}});
  mine.nodes[0].items[1].stated = nullptr;
  const auto matched =
      match_frames(entry_matcher, std::move(mine), std::move(golden), with_join(Join::same_shape));
  EXPECT_THAT(reasons_of(matched), ElementsAre(Why::nothing_fits, Why::other_shape));
}

TEST(Entry, RefusesToMultiplyRepeatedNames) {
  std::vector<TestItem> rows(3000, TestItem{"x"});
  Indexed frames;
  frames.mine.push_back(make_frame({{"a", rows}}));
  frames.golden.push_back(make_frame({{"a", rows}}));
  const auto pairing = entry_matcher.match(frames, with_join(Join::all));
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
  MatchOptions options = with_join(Join::same_dtype);
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
  MatchOptions options = with_join(Join::same_shape);
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

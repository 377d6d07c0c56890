#include "assay/match/matcher.h"

#include "assay/match/frames.h"
#include "assay/match/keyed/name.h"
#include "assay/match/ops/op_sections.h"
#include "assay/model/process.h"

#include <gmock/gmock.h>

namespace assay {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

using Names = std::vector<std::string>;

// A frame whose nodes hold items of these names.
Frame frame_of(const std::vector<Names>& nodes) {
  Frame frame;
  for (size_t n = 0; n < nodes.size(); ++n) {
    Node node;
    node.name = frame.strings.keep(fmt::format("node{}", n));
    for (const std::string& name : nodes[n]) {
      Item item;
      item.name = frame.strings.keep(name);
      node.items.push_back(item);
    }
    frame.nodes.push_back(std::move(node));
  }
  return frame;
}

std::vector<Names> one_each(const Names& names) {
  std::vector<Names> nodes;
  for (const std::string& name : names) nodes.push_back({name});
  return nodes;
}

// "mine|golden why" per row, nodes apart by "/".
Names rows(const Matcher& matcher, const std::vector<Names>& mine, const std::vector<Names>& golden,
           bool are_files = false) {
  Matched matched;
  matched.frames.mine.push_back(frame_of(mine));
  matched.frames.golden.push_back(frame_of(golden));
  matched.frames.mine[0].is_file = matched.frames.golden[0].is_file = are_files;
  auto pairing = matcher.match(matched.frames, {});
  EXPECT_TRUE(pairing);
  matched.pairing = std::move(*pairing);
  Names out;
  for (size_t n = 0; n < matched.pairing.nodes.size(); ++n) {
    const PairedNode& node = matched.pairing.nodes[n];
    EXPECT_EQ(node.order, static_cast<int64_t>(n));
    std::string text;
    for (const Pair& pair : node.pairs) {
      text += text.empty() ? "" : " / ";
      text += pair.mine ? matched.item(Side::mine, *pair.mine).name : "-";
      text += "|";
      text += pair.golden ? matched.item(Side::golden, *pair.golden).name : "-";
      EXPECT_EQ(pair.why == Why::nothing_fits, !pair.mine || !pair.golden);
    }
    out.push_back(text);
  }
  return out;
}

Names by_name(const Names& mine, const Names& golden) {
  return rows(name_matcher, one_each(mine), one_each(golden));
}

const Matcher& position_method() {
  MatchOptions options;
  options.matcher = "position";
  return **choose_matcher("folder", "folder", options);
}

TEST(Stem, DropsTheSuffixOfTheFile) {
  EXPECT_EQ(stem_of("a/x.npy"), "a/x");
  EXPECT_EQ(stem_of("x.PT"), "x");
  EXPECT_EQ(stem_of("x.npz:y"), "x:y");
  EXPECT_EQ(stem_of("x.npz:y.pt"), "x:y.pt");
  EXPECT_EQ(stem_of("c:x.npy"), "c:x");
  EXPECT_EQ(stem_of("layer.0.weight"), "layer.0.weight");
  EXPECT_EQ(stem_of(".npy"), ".npy");
  EXPECT_EQ(stem_of(""), "");
}

TEST(ByName, PairsEqualNamesInTheOrderOfMine) {
  EXPECT_THAT(by_name({"b", "a"}, {"a", "b"}), ElementsAre("b|b", "a|a"));
}

TEST(ByName, PairsEqualStems) {
  EXPECT_THAT(by_name({"x.npy", "y"}, {"x.pt", "y.npy"}), ElementsAre("x.npy|x.pt", "y|y.npy"));
  EXPECT_THAT(by_name({"x.npz:a", "x.npz:b"}, {"x.pt:b", "x.pt:a"}),
              ElementsAre("x.npz:a|x.pt:a", "x.npz:b|x.pt:b"));
}

TEST(ByName, PrefersTheExactName) {
  EXPECT_THAT(by_name({"x.npy", "x.pt"}, {"x.bin", "x.pt"}), ElementsAre("x.npy|x.bin", "x.pt|x.pt"));
}

TEST(ByName, DoesNotGuessAmongSeveralOfOneStem) {
  EXPECT_THAT(by_name({"x.npy", "x.pt"}, {"x.npz"}), ElementsAre("-|x.npz", "x.npy|-", "x.pt|-"));
  EXPECT_THAT(by_name({"x.npy"}, {"x.npz", "x.pt"}), ElementsAre("-|x.npz", "-|x.pt", "x.npy|-"));
}

TEST(ByName, PairsDumpedParametersWithThoseOfACheckpoint) {
  const std::vector<Names> hooked = one_each({"root.fc.weight.pth", "root.fc.bias.pth", "root.norm.pth"});
  const std::vector<Names> checkpoint = {{"a.safetensors:fc.bias"}, {"b.safetensors:fc.weight"}};
  EXPECT_THAT(rows(name_matcher, hooked, checkpoint),
              ElementsAre("root.fc.weight.pth|b.safetensors:fc.weight",
                          "root.fc.bias.pth|a.safetensors:fc.bias", "root.norm.pth|-"));
  EXPECT_THAT(rows(name_matcher, {{"fc.weight"}}, hooked),
              ElementsAre("fc.weight|root.fc.weight.pth", "-|root.fc.bias.pth", "-|root.norm.pth"));
}

TEST(ByName, DoesNotGuessAmongSeveralParametersOfOneName) {
  EXPECT_THAT(rows(name_matcher, {{"root.w.pth"}}, {{"a.npz:w", "b.npz:w"}}),
              ElementsAre("-|a.npz:w / -|b.npz:w", "root.w.pth|-"));
  EXPECT_THAT(rows(name_matcher, {{"a.npz:w"}}, {{"b.npz:w"}}), ElementsAre("-|b.npz:w", "a.npz:w|-"));
}

TEST(ByName, PairsTheOnlyItemOfTwoFiles) {
  EXPECT_THAT(rows(name_matcher, {{"mine.npy"}}, {{"golden.pt"}}, true), ElementsAre("mine.npy|golden.pt"));
  EXPECT_THAT(by_name({"mine.npy"}, {"golden.pt"}),
              ElementsAre("-|golden.pt", "mine.npy|-"));  // of two folders
  EXPECT_THAT(by_name({"a", "b"}, {"c", "d"}), ElementsAre("-|c", "-|d", "a|-", "b|-"));
  EXPECT_THAT(by_name({"a"}, {"c", "d"}), ElementsAre("-|c", "-|d", "a|-"));
}

TEST(ByName, RepeatedNamesLineUpInOrder) {
  Matched matched;
  matched.frames.mine.push_back(frame_of(one_each({"x", "x", "x"})));
  matched.frames.golden.push_back(frame_of(one_each({"x", "x"})));
  const auto pairing = name_matcher.match(matched.frames, {});
  ASSERT_TRUE(pairing);
  EXPECT_EQ(pairing->nodes[1].pairs[0].golden, (ItemId{0, 1, 0}));
  EXPECT_FALSE(pairing->nodes[2].pairs[0].golden.has_value());
}

TEST(ByName, PutsWhatOnlyGoldenHasAtItsPlace) {
  EXPECT_THAT(by_name({"a", "b", "m"}, {"first", "a", "x", "y", "b", "last"}),
              ElementsAre("-|first", "a|a", "-|x", "-|y", "b|b", "-|last", "m|-"));
}

TEST(ByName, KeepsTheItemsOfANodeTogether) {
  EXPECT_THAT(
      rows(name_matcher, {{"n.0", "n.1"}, {"m.0"}}, {{"n.in", "n.0", "n.x", "n.1"}, {"o.0", "o.1"}, {"m.0"}}),
      ElementsAre("-|n.in / n.0|n.0 / -|n.x / n.1|n.1", "-|o.0 / -|o.1", "m.0|m.0"));
}

TEST(ByName, EmptySidesAreFine) {
  EXPECT_THAT(by_name({}, {}), ElementsAre());
  EXPECT_THAT(by_name({"a"}, {}), ElementsAre("a|-"));
  EXPECT_THAT(by_name({}, {"a", "b"}), ElementsAre("-|a", "-|b"));
}

TEST(ByName, IsLinear) {
  Names mine, golden;
  for (int i = 0; i < 20'000; ++i) {
    mine.push_back(fmt::format("t{}.npy", i));
    golden.push_back(fmt::format("t{}.pt", i));
  }
  EXPECT_EQ(by_name(mine, golden).size(), 20'000);
  // One node of many items, none of which has a counterpart: no quadratic scan either.
  EXPECT_EQ(rows(name_matcher, {mine}, {golden}).size(), 1);
  EXPECT_EQ(rows(name_matcher, {{"a", "b"}}, {golden}).size(), 2);
}

TEST(ByPosition, PairsTheKthWithTheKth) {
  EXPECT_THAT(rows(position_method(), one_each({"a", "b"}), one_each({"x", "y", "z"})),
              ElementsAre("a|x", "b|y", "-|z"));
  EXPECT_THAT(rows(position_method(), one_each({"a", "b"}), one_each({"x"})), ElementsAre("a|x", "b|-"));
}

TEST(ChooseMatcher, FollowsTheMappingsAndTheLayouts) {
  const auto chosen = [](std::string_view layout, const Mappings& mappings, bool fuzzy = false) {
    MatchOptions options;
    options.mappings = std::make_shared<const Mappings>(mappings);
    options.fuzzy = fuzzy;
    return (*choose_matcher(layout, layout, options))->name;
  };
  EXPECT_EQ(chosen("msprobe", {}), "entry");
  EXPECT_EQ(chosen("ms_kernel", {}), "entry");
  EXPECT_EQ(chosen("folder", {}), "name");
  EXPECT_EQ((*choose_matcher("msprobe", "folder", {}))->name, "name");
  EXPECT_EQ(chosen("msprobe", {}, true), "fuzzy");
  Mappings mappings;
  mappings.data.emplace();
  EXPECT_EQ(chosen("msprobe", mappings, true), "data");
  mappings.by_layer = true;
  EXPECT_EQ(chosen("msprobe", mappings), "layer");
  mappings.rename_cells = true;
  EXPECT_EQ(chosen("msprobe", mappings), "cell");
  mappings.use_api_table = true;
  EXPECT_EQ(chosen("msprobe", mappings), "api");
  mappings.use_api_table = false;
  mappings.apis.emplace_back();
  EXPECT_EQ(chosen("msprobe", mappings), "api");
}

TEST(ChooseMatcher, NamesTheMethods) {
  EXPECT_EQ((*choose_matcher("single", "folder", {}))->name, "name");
  MatchOptions options;
  options.matcher = "magic";
  const auto chosen = choose_matcher("single", "single", options);
  ASSERT_FALSE(chosen);
  EXPECT_THAT(chosen.error().message, HasSubstr("there are name, exact, content, position"));
}

Dump dump_of(const std::vector<At>& places) {
  Dump dump;
  for (const At& at : places) dump.frames.push_back(FrameInfo{at, {}});
  return dump;
}

At rank(int number) {
  At at;
  at.rank = number;
  return at;
}

Names section_texts(const Dump& mine, const Dump& golden, const MatchOptions& options = {}) {
  Names out;
  const auto sections = sections_by_at(mine, golden, options);
  for (const Section& section : *sections)
    out.push_back(fmt::format("{}:{}:{}", section.at.text(), section.mine.size(), section.golden.size()));
  return out;
}

TEST(Sections, OneFrameEachIsOneSectionWhereverTheyWereTaken) {
  EXPECT_THAT(section_texts(dump_of({rank(0)}), dump_of({rank(3)})), ElementsAre("rank 0:1:1"));
}

TEST(Sections, PairByPlaceAndKeepWhatOneSideLacks) {
  EXPECT_THAT(
      section_texts(dump_of({rank(0), rank(1), rank(2)}), dump_of({rank(9), rank(2), rank(0), rank(7)})),
      ElementsAre("rank 9:0:1", "rank 0:1:1", "rank 7:0:1", "rank 1:1:0", "rank 2:1:1"));
  EXPECT_THAT(section_texts(dump_of({rank(0), rank(1)}), dump_of({})),
              ElementsAre("rank 0:1:0", "rank 1:1:0"));
}

// "mine with golden" per section.
Names paired_places(const Dump& mine, const Dump& golden, const MatchOptions& options = {}) {
  const auto text = [](const std::vector<FrameInfo>& frames) {
    return frames.empty() ? std::string("-") : frames[0].at.text();
  };
  Names out;
  const auto sections = sections_by_at(mine, golden, options);
  for (const Section& section : *sections)
    out.push_back(text(section.mine) + " with " + text(section.golden));
  return out;
}

At part(int number, std::string name) {
  At at = rank(number);
  at.part = std::move(name);
  return at;
}

TEST(Sections, PairInOrderWhereNoPlaceIsCommon) {
  EXPECT_THAT(paired_places(dump_of({rank(0), rank(2)}), dump_of({rank(10), rank(4)})),
              ElementsAre("rank 0 with rank 4", "rank 2 with rank 10"));
  EXPECT_THAT(paired_places(dump_of({rank(0)}), dump_of({rank(10), rank(4)})),
              ElementsAre("- with rank 10", "- with rank 4", "rank 0 with -"));
  EXPECT_THAT(paired_places(dump_of({rank(4)}), dump_of({rank(10), rank(4)})),
              ElementsAre("- with rank 10", "rank 4 with rank 4"));
  EXPECT_THAT(paired_places(dump_of({}), dump_of({})), ElementsAre());
}

TEST(Sections, RanksInOrderWhereAsked) {
  MatchOptions options;
  options.frames_in_order = true;
  // The ranks of the fixture "multi_rank"; as texts, 10 would come before 4.
  EXPECT_THAT(
      paired_places(dump_of({rank(2), rank(0), rank(1)}), dump_of({rank(10), rank(4), rank(5)}), options),
      ElementsAre("rank 0 with rank 4", "rank 1 with rank 5", "rank 2 with rank 10"));
  // Equal numbers do not matter either.
  EXPECT_THAT(paired_places(dump_of({rank(0), rank(1)}), dump_of({rank(1), rank(2)}), options),
              ElementsAre("rank 0 with rank 1", "rank 1 with rank 2"));
  EXPECT_THAT(paired_places(dump_of({rank(0), part(0, "debug"), rank(1)}),
                            dump_of({rank(4), rank(5), part(4, "debug")}), options),
              ElementsAre("rank 0 with rank 4", "rank 0 debug with rank 4 debug", "rank 1 with rank 5"));
  EXPECT_THAT(
      paired_places(dump_of({rank(0), rank(1), part(1, "debug")}), dump_of({rank(4), rank(5)}), options),
      ElementsAre("rank 0 with rank 4", "rank 1 with rank 5", "rank 1 debug with -"));
}

At process(int number, int step = -1, std::string rest = "") {
  At at;
  at.step = step;
  at.part = process_part(number, rest);
  return at;
}

// The system numbers processes anew in every run.
TEST(Sections, ProcessesArePairedInTheirOrder) {
  EXPECT_THAT(paired_places(dump_of({process(7)}), dump_of({process(9)})),
              ElementsAre("process 7 with process 9"));
  EXPECT_THAT(paired_places(dump_of({process(7, 0), process(7, 0, "debug"), process(8, 1)}),
                            dump_of({process(9, 0), process(9, 0, "debug"), process(3, 1), process(3, 2)})),
              ElementsAre("step 0 process 7 with step 0 process 9",
                          "step 0 process 7 debug with step 0 process 9 debug",
                          "step 1 process 8 with step 1 process 3", "- with step 2 process 3"));
  EXPECT_THAT(
      paired_places(dump_of({process(7), process(100)}), dump_of({process(8), process(9), process(101)})),
      ElementsAre("process 7 with process 8", "process 100 with process 9", "- with process 101"));
  // One side has all numbers of the other: they are of the same run.
  EXPECT_THAT(paired_places(dump_of({process(9)}), dump_of({process(8), process(9)})),
              ElementsAre("- with process 8", "process 9 with process 9"));
}

TEST(Sections, ARunOfOneRankIsPairedWithAnyOther) {
  At first = rank(0), second = rank(0);
  first.step = 0;
  second.step = 1;
  EXPECT_THAT(paired_places(dump_of({first, second}), dump_of({process(9, 1)})),
              ElementsAre("rank 0 step 0 with -", "rank 0 step 1 with step 1 process 9"));
  EXPECT_THAT(paired_places(dump_of({rank(0), rank(1), process(7)}), dump_of({rank(0), rank(1), process(9)})),
              ElementsAre("rank 0 with rank 0", "rank 1 with rank 1", "process 7 with process 9"));
}

// They are counted: a section with an empty side each.
TEST(Sections, NoProcessesBesideRanksThatArePairedInOrder) {
  MatchOptions options;
  options.frames_in_order = true;
  EXPECT_THAT(paired_places(dump_of({process(7)}), dump_of({process(9)}), options),
              ElementsAre("process 7 with process 9"));
  EXPECT_THAT(paired_places(dump_of({rank(0), process(7)}), dump_of({rank(4), process(9)}), options),
              ElementsAre("rank 0 with rank 4", "process 7 with -", "- with process 9"));
}

TEST(Sections, RanksInAnotherOrderWhereAsked) {
  MatchOptions options;
  options.frames_in_order = true;
  options.order_ranks = [](std::vector<int>&, std::vector<int>& golden) { golden = {10, 4, 5}; };
  EXPECT_THAT(
      paired_places(dump_of({rank(2), rank(0), rank(1)}), dump_of({rank(10), rank(4), rank(5)}), options),
      ElementsAre("rank 0 with rank 10", "rank 1 with rank 4", "rank 2 with rank 5"));
}

TEST(Sections, ARankWithDumpOnOneSideAndDebugOnTheOtherIsNotPaired) {
  MatchOptions options;
  options.frames_in_order = true;
  EXPECT_THAT(paired_places(dump_of({rank(0), rank(1)}), dump_of({part(0, "debug"), rank(1)}), options),
              ElementsAre("rank 0 with -", "- with rank 0 debug", "rank 1 with rank 1"));
  EXPECT_THAT(paired_places(dump_of({part(0, "debug")}), dump_of({rank(0)}), options),
              ElementsAre("rank 0 debug with -", "- with rank 0"));
  // Files that the user names are compared, whatever they are called.
  Dump mine = dump_of({part(-1, "debug")}), golden = dump_of({rank(-1)});
  mine.root = "a/debug.json";
  golden.root = "b/dump.json";
  mine.frames[0].paths = {mine.root};
  golden.frames[0].paths = {golden.root};
  EXPECT_THAT(paired_places(mine, golden, options), ElementsAre("debug with "));
}

At token(int number, std::string name = "") {
  At at;
  at.token = number;
  at.part = std::move(name);
  return at;
}

// Two rounds that were named: with two models one of them may hold two tokens.
TEST(Sections, AnyTokensAreEachWithEachWhereNoneIsCommon) {
  const auto pairs = [](const Dump& mine, const Dump& golden, bool any_tokens) {
    MatchOptions options;
    options.any_tokens = any_tokens;
    Names out;
    const auto sections = sections_by_token(mine, golden, options);
    for (const Section& section : *sections)
      if (!section.mine.empty() && !section.golden.empty())
        out.push_back(section.at.text() + " with " + section.golden[0].at.text());
    return out;
  };
  const Dump two = dump_of({token(0), token(1)}), five = dump_of({token(5)}),
             warm_up = dump_of({token(-1, "warmup")});
  EXPECT_THAT(pairs(two, five, false), ElementsAre());
  EXPECT_THAT(pairs(two, five, true), ElementsAre("token 0 with token 5", "token 1 with token 5"));
  EXPECT_THAT(pairs(two, dump_of({token(1)}), true), ElementsAre("token 1 with token 1"));
  EXPECT_THAT(pairs(two, warm_up, true), ElementsAre("token 0 with warmup"));
  EXPECT_THAT(pairs(warm_up, two, true), ElementsAre("warmup with token 0"));
}

TEST(Sections, RefuseUnequalCountsOfRanks) {
  MatchOptions options;
  options.frames_in_order = true;
  Dump mine = dump_of({rank(0), rank(1)}), golden = dump_of({rank(3)});
  mine.root = "m";
  golden.root = "g";
  const auto sections = sections_by_at(mine, golden, options);
  ASSERT_FALSE(sections);
  EXPECT_EQ(sections.error().kind, ErrorKind::mismatch);
  EXPECT_EQ(sections.error().message, "m has 2 ranks (0, 1), g has 1 (3); expected as many on both sides");
}

}  // namespace
}  // namespace assay

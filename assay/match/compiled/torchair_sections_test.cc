#include "assay/match/compiled/torchair_sections.h"

#include "assay/match/compiled/torchair_test_tools.h"

#include <gmock/gmock.h>

namespace assay {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

Texts sections(const Dump& mine, const Dump& golden) {
  return section_texts(sections_by_graph(mine, golden, {}));
}

// Two graphs that the sides count in another order: their operators tell.
TEST(TorchairSections, NamesDecideWhereNumbersDiffer) {
  EXPECT_THAT(sections(dump_of({{0, 1, 0, {"a", "b"}}, {0, 2, 0, {"x", "y"}}}),
                       dump_of({{0, 1, 0, {"x", "y"}}, {0, 2, 0, {"a", "b"}}})),
              ElementsAre("rank 0 graph 1 token 0: a | a", "rank 0 graph 2 token 0: x | x"));
}

TEST(TorchairSections, NumbersDecideWhereNamesAreTheSame) {
  EXPECT_THAT(sections(dump_of({{0, 2, 0, {"m2", "a"}}, {0, 1, 0, {"m1", "a"}}}),
                       dump_of({{0, 1, 0, {"g1", "a"}}, {0, 2, 0, {"g2", "a"}}})),
              ElementsAre("rank 0 graph 2 token 0: m2 | g2", "rank 0 graph 1 token 0: m1 | g1"));
}

TEST(TorchairSections, WhatIsLeftGoesInOrderIfThereAreAsMany) {
  EXPECT_THAT(sections(dump_of({{0, 1, 0, {"a"}}, {0, 2, 0, {"b"}}}),
                       dump_of({{0, -1, 0, {"p"}, "gm 1"}, {0, -1, 0, {"q"}, "gm 2"}})),
              ElementsAre("rank 0 graph 1 token 0: a | p", "rank 0 graph 2 token 0: b | q"));
}

// "10" behind "9", as the numbers of mine are.
TEST(TorchairSections, PlacesAreThoseOfNumbersInNames) {
  EXPECT_THAT(sections(dump_of({{0, 1, 0, {"a"}}, {0, 2, 0, {"b"}}}),
                       dump_of({{0, -1, 0, {"q"}, "model_10"}, {0, -1, 0, {"p"}, "model_9"}})),
              ElementsAre("rank 0 graph 1 token 0: a | p", "rank 0 graph 2 token 0: b | q"));
}

// Folders of both sides are called after the model, though nothing in them tells it apart.
TEST(TorchairSections, NamesOfModelsDecideWhereNothingElseDoes) {
  EXPECT_THAT(sections(dump_of({{0, -1, 0, {"m1", "a"}, "model 1", "decode"},
                                {0, -1, 0, {"m2", "a"}, "model 2", "prefill"}}),
                       dump_of({{0, -1, 0, {"g1", "a"}, "prefill", "prefill"}})),
              testing::Contains(HasSubstr(": m2 | g1")));
}

// A graph that one side lacks must not be taken for another.
TEST(TorchairSections, AGraphThatOneSideLacks) {
  EXPECT_THAT(sections(dump_of({{0, 1, 0, {"a"}}, {0, 2, 0, {"b"}}}), dump_of({{0, 1, 0, {"b"}}})),
              ElementsAre("rank 0 graph 1 token 0: a |", "rank 0 graph 2 token 0: b | b"));
  const Texts found = sections(dump_of({{0, 1, 0, {"a"}}}), dump_of({{0, 1, 0, {"x"}}, {0, 2, 0, {"a"}}}));
  EXPECT_THAT(found, testing::Contains(HasSubstr("a | a")));
  EXPECT_THAT(found, testing::Contains(HasSubstr("| x")));
  EXPECT_EQ(found.size(), 2U);
}

TEST(TorchairSections, RanksThatOneSideLacks) {
  EXPECT_THAT(sections(dump_of({{0, 1, 0, {"a"}}, {1, 1, 0, {"a1"}}}),
                       dump_of({{1, 1, 0, {"a1"}}, {2, 1, 0, {"a2"}}})),
              ElementsAre("rank 0 graph 1 token 0: a |", "rank 1 graph 1 token 0: a1 | a1",
                          "rank 2 graph 1 token 0: | a2"));
}

// One rank each, of whatever number: a dump without folders of ranks, say.
TEST(TorchairSections, OneRankEach) {
  EXPECT_THAT(sections(dump_of({{3, 1, 0, {"a"}}, {3, 1, 1, {"a"}}}),
                       dump_of({{-1, 1, 0, {"a"}}, {-1, 1, 1, {"a"}}})),
              ElementsAre("rank 3 graph 1 token 0: a | a", "rank 3 graph 1 token 1: a | a"));
}

TEST(TorchairSections, TokensThatOneSideLacks) {
  EXPECT_THAT(
      sections(dump_of({{0, 1, 0, {"a"}}, {0, 1, 2, {"a"}}}), dump_of({{0, 1, 2, {"a"}}, {0, 1, 5, {"a"}}})),
      ElementsAre("rank 0 graph 1 token 0: a |", "rank 0 graph 1 token 2: a | a",
                  "rank 0 graph 1 token 5: | a"));
}

// What the graph says that its operators compute are names of FX.
TEST(TorchairSections, AGraphKnowsTheNamesOfFx) {
  Dump mine = dump_of({{0, 1, 0, {"Add"}}, {0, 2, 0, {"Mul"}}});
  mine.frames[0].graph = make_graph({{"Add", "", {}, {{"add-aten.add", 0}}}});
  mine.frames[1].graph = make_graph({{"Mul", "", {}, {{"mul-aten.mul", 0}}}});
  EXPECT_THAT(
      sections(mine, dump_of({{0, -1, 0, {"mul-aten.mul"}, "gm 1"}, {0, -1, 0, {"add-aten.add"}, "gm 2"}})),
      ElementsAre("rank 0 graph 1 token 0: Add | add-aten.add",
                  "rank 0 graph 2 token 0: Mul | mul-aten.mul"));
}

}  // namespace
}  // namespace assay

#include "assay/compat/msit/matchers.h"
#include "assay/match/compiled/torchair_test_tools.h"

#include <gmock/gmock.h>

namespace assay {
namespace {

TEST(MsitTorchair, HasOneTableForAllTokensOfAGraph) {
  const Texts found = section_texts(
      msit_ge_fx_matcher().sections(dump_of({{0, 1, 0, {"a"}}, {0, 1, 1, {"a"}}, {1, 1, 0, {"b"}}}),
                                    dump_of({{0, 1, 0, {"a"}}, {0, 1, 1, {"a"}}, {2, 1, 0, {"b"}}}), {}));
  EXPECT_THAT(found, testing::UnorderedElementsAre(
                         "rank 0 graph 1: a a | a a",
                         "left out: rank 1 graph 1: only mine has this graph; it is not compared",
                         "left out: rank 2 graph 1: only golden has this graph; it is not compared"));
}

// What the graph does not know comes first, by path; then in the order of the graph's file. The table is
// sorted by file, and numbered as visited.
TEST(MsitTorchair, NumbersOperatorsAsItVisitsThem) {
  const std::vector<TestNode> nodes = {
      {"Mul"}, {"zz", "", {{0}}}, {"Add", "", {{0}}}, {"aa", "", {{0}}}, {"First", "", {{0}}}};
  const Matched matched =
      match_frames(msit_ge_fusion_matcher(), make_graph_frame("ge", nodes, make_graph({{"First"}, {"Add"}})),
                   make_graph_frame("ge", nodes), {});
  std::map<int32_t, std::string> by_number;
  for (const PairedNode& node : matched.pairing.nodes)
    for (const Pair& pair : node.pairs) by_number.emplace(pair.number, node.name);
  EXPECT_THAT(by_number, testing::ElementsAre(testing::Pair(0, "aa"), testing::Pair(1, "zz"),
                                              testing::Pair(2, "First"), testing::Pair(3, "Add")));
}

// Sections of one rank are one table, and count on.
TEST(MsitTorchair, CountsOnFromSectionToSection) {
  const Matcher matcher = msit_ge_fusion_matcher();
  const auto first_number = [&matcher](int rank) {
    Indexed frames;
    frames.at.rank = rank;
    for (auto* side : {&frames.mine, &frames.golden})
      side->push_back(make_graph_frame("ge", {{"a", "", {{0}}}, {"b", "", {{0}}}}));
    return matcher.match(frames, {})->nodes[0].pairs[0].number;
  };
  EXPECT_EQ(first_number(0), 0);
  EXPECT_EQ(first_number(0), 2);
  EXPECT_EQ(first_number(1), 0);
}

}  // namespace
}  // namespace assay

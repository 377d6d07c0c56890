#include "assay/model/graph.h"

#include <gmock/gmock.h>

#include <chrono>

namespace assay {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

// ----- compiled graphs: operators name those whose results they take

void add(Graph& graph, std::string_view name, const std::vector<std::string>& producers) {
  GraphOp op{graph.strings.keep(name), {}};
  for (const std::string& producer : producers) op.inputs.push_back({graph.strings.keep(producer)});
  graph.add(std::move(op));
}

TEST(CompiledGraph, OrdersByDependencies) {
  Graph graph;
  add(graph, "last", {"middle", "first"});
  add(graph, "middle", {"first"});
  add(graph, "first", {"not here", ""});
  graph.connect_by_producers();
  EXPECT_THAT(graph.position, ElementsAre(2, 1, 0));
  EXPECT_THAT(graph.in_order(), ElementsAre(2, 1, 0));
  EXPECT_EQ(graph.find("middle"), 1);
  EXPECT_EQ(graph.find("none"), -1);
  EXPECT_EQ(graph.shape, GraphShape::flat);
}

TEST(CompiledGraph, KeepsTheOrderOfTheFileWhereItIsRight) {
  Graph graph;
  add(graph, "a", {});
  add(graph, "b", {"a"});
  add(graph, "c", {});
  add(graph, "d", {"b", "c"});
  graph.connect_by_producers();
  EXPECT_THAT(graph.position, ElementsAre(0, 1, 2, 3));
}

TEST(CompiledGraph, EntersACycleAtItsFirstOperator) {
  Graph graph;
  add(graph, "free", {});
  add(graph, "a", {"b"});
  add(graph, "b", {"a"});
  add(graph, "self", {"self"});
  graph.connect_by_producers();
  EXPECT_THAT(graph.position, ElementsAre(0, 1, 2, 3));
}

TEST(CompiledGraph, TheFirstOfANameCounts) {
  Graph graph;
  add(graph, "a", {});
  add(graph, "a", {"a"});
  add(graph, "", {});
  graph.connect_by_producers();
  EXPECT_EQ(graph.find("a"), 0);
  EXPECT_THAT(graph.position, ElementsAre(0, 1, 2));
}

TEST(CompiledGraph, AnOperatorWaitsWithoutTakingAnything) {
  Graph graph;
  graph.add({.name = "late", .type = {}, .inputs = {{"early", -1}}});
  graph.add({.name = "early", .type = {}});
  graph.connect_by_producers();
  EXPECT_THAT(graph.position, ElementsAre(1, 0));
  EXPECT_EQ(graph.value_of(0, {Direction::input, 0}), -1);
}

TEST(CompiledGraph, AValueIsOneOutputOfItsProducer) {
  Graph graph;
  graph.add({.name = "split", .type = {}, .inputs = {{"x", 0}}, .outputs = {{}, {}}});
  graph.add({.name = "a", .type = {}, .inputs = {{"split", 1}, {"split", 1}, {"split", 7}, {""}}});
  graph.add({.name = "b", .type = {}, .inputs = {{"split", 1}, {"split", 7}, {"x", 0}, {"x", 1}}});
  graph.connect_by_producers();
  const auto taken = [&](int32_t op, int index) { return graph.value_of(op, {Direction::input, index}); };
  EXPECT_EQ(taken(1, 0), graph.value_of(0, {Direction::output, 1}));
  EXPECT_EQ(taken(2, 0), taken(1, 0));
  const GraphValue& value = graph.values[static_cast<size_t>(taken(1, 0))];
  EXPECT_EQ(value.producer, 0);
  EXPECT_EQ(value.output, 1);
  EXPECT_THAT(value.consumers, ElementsAre(1, 2));
  // An output that its operator does not list is one all the same.
  EXPECT_EQ(taken(1, 2), taken(2, 1));
  EXPECT_EQ(graph.producer_of(taken(1, 2)), 0);
  EXPECT_EQ(taken(1, 3), -1);
  EXPECT_EQ(taken(2, 2), taken(0, 0));  // from outside
  EXPECT_NE(taken(2, 2), taken(2, 3));
  EXPECT_EQ(graph.producer_of(taken(2, 2)), -1);
}

TEST(CompiledGraph, FusedOperatorsAreCopiedWithTheirTexts) {
  Graph graph;
  {
    Graph later;
    later.add({.name = later.strings.keep("kern"), .type = {}, .fused_from = {later.strings.keep("Mul")}});
    graph.add_fused(later.at(0));
  }
  graph.add_fused({.name = "kern", .type = {}, .fused_from = {"Add"}});
  EXPECT_THAT(graph.fused[0].fused_from, ElementsAre("Mul"));
  EXPECT_THAT(graph.find_fused("kern")->fused_from, ElementsAre("Add"));  // the last of a name
}

// Neither a ring nor a chain that is written backwards may recurse, or be searched again for every operator.
TEST(CompiledGraph, VeryManyOperators) {
  constexpr int kMany = 100'000;
  Graph ring, chain;
  for (int i = 0; i < kMany; ++i) {
    add(ring, std::to_string(i), {std::to_string((i + kMany - 1) % kMany)});
    add(chain, std::to_string(i), {std::to_string(i + 1)});
  }
  const auto begin = std::chrono::steady_clock::now();
  ring.connect_by_producers();
  chain.connect_by_producers();
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(10));
  EXPECT_EQ(ring.position[0], 0);
  EXPECT_EQ(ring.position[kMany - 1], kMany - 1);
  EXPECT_EQ(chain.position[0], kMany - 1);
}

// ----- trees: operators name their tensors

constexpr Port kIn = {Direction::input, 0}, kOut = {Direction::output, 0};

int32_t add(Graph& tree, int32_t parent, const std::vector<std::string_view>& inputs,
            const std::vector<std::string_view>& outputs) {
  GraphOp op;
  op.parent = parent;
  for (const std::string_view name : inputs) op.inputs.push_back({name});
  for (const std::string_view name : outputs) op.outputs.push_back({.name = name});
  return tree.add(std::move(op));
}

TEST(TreeGraph, AnInputIsTheOutputThatMadeIt) {
  Graph tree;
  const int32_t root = add(tree, -1, {}, {});
  const int32_t first = add(tree, root, {"x"}, {"h"}), second = add(tree, root, {"h"}, {"y"});
  tree.connect_by_names();
  EXPECT_EQ(tree.value_of(second, kIn), tree.value_of(first, kOut));
  EXPECT_NE(tree.value_of(second, kIn), tree.value_of(second, kOut));
  EXPECT_EQ(tree.producer_of(tree.value_of(second, kIn)), first);
  EXPECT_EQ(tree.producer_of(tree.value_of(first, kIn)), -1);
}

// Graphs write to one internal tensor again and again.
TEST(TreeGraph, ANameStandsForWhatWasWrittenLast) {
  Graph tree;
  const int32_t root = add(tree, -1, {}, {});
  const int32_t first = add(tree, root, {"h"}, {"h"}), second = add(tree, root, {"h"}, {"h"});
  tree.connect_by_names();
  EXPECT_EQ(tree.value_of(second, kIn), tree.value_of(first, kOut));
  EXPECT_NE(tree.value_of(first, kIn), tree.value_of(first, kOut));
  EXPECT_NE(tree.value_of(first, kOut), tree.value_of(second, kOut));
}

TEST(TreeGraph, ABlockGivesWhatItsChildrenMade) {
  Graph tree;
  const int32_t root = add(tree, -1, {}, {});
  const int32_t block = add(tree, root, {"x"}, {"y"}), inner = add(tree, block, {"x"}, {"y"});
  const int32_t behind = add(tree, root, {"y"}, {"z"});
  tree.connect_by_names();
  EXPECT_EQ(tree.value_of(block, kOut), tree.value_of(inner, kOut));
  EXPECT_EQ(tree.value_of(behind, kIn), tree.value_of(inner, kOut));
  EXPECT_EQ(tree.producer_of(tree.value_of(block, kOut)), inner);
  EXPECT_THAT(tree.values[static_cast<size_t>(tree.value_of(block, kIn))].consumers,
              ElementsAre(block, inner));
}

// The names inside a block may be of another kind; then the block itself is what makes its output.
TEST(TreeGraph, ABlockWithOtherNamesInsideMakesItsOutputItself) {
  Graph tree;
  const int32_t root = add(tree, -1, {}, {});
  const int32_t before = add(tree, root, {}, {"y"});
  const int32_t block = add(tree, root, {"x"}, {"y"}), inner = add(tree, block, {"a"}, {"b"});
  tree.connect_by_names();
  EXPECT_EQ(tree.producer_of(tree.value_of(block, kOut)), block);
  EXPECT_NE(tree.value_of(block, kOut), tree.value_of(before, kOut));
  EXPECT_NE(tree.value_of(block, kOut), tree.value_of(inner, kOut));
}

TEST(TreeGraph, KnowsNothingOfUnnamedTensors) {
  Graph tree;
  const int32_t op = add(tree, -1, {"x"}, {});
  tree.connect_by_names();
  EXPECT_EQ(tree.value_of(op, kOut), -1);
  EXPECT_EQ(tree.value_of(op, {Direction::input, 1}), -1);
  EXPECT_EQ(tree.value_of(op, {Direction::input, -1}), -1);
  EXPECT_EQ(tree.value_of(op, {Direction::none, 0}), -1);
}

// A topology may hold something that is no name; two of those are not one tensor.
TEST(TreeGraph, TensorsWithoutANameAreNoValue) {
  Graph tree;
  const int32_t root = add(tree, -1, {}, {});
  const int32_t first = add(tree, root, {"x"}, {""}), second = add(tree, root, {"", "x"}, {"y"});
  tree.connect_by_names();
  EXPECT_EQ(tree.value_of(first, kOut), -1);
  EXPECT_EQ(tree.value_of(second, kIn), -1);
  EXPECT_EQ(tree.value_of(second, {Direction::input, 1}), tree.value_of(first, kIn));
}

// ----- lists that need not be in order

TEST(UnorderedGraph, WhatIsReadFirstIsWhatItsFirstWriterMakes) {
  Graph graph;
  const int32_t late = add(graph, -1, {"h", "w"}, {"y"}), first = add(graph, -1, {"x"}, {"h"});
  const int32_t again = add(graph, -1, {"h"}, {"h", "w"});
  graph.connect_by_names_in_any_order({"w"});
  EXPECT_EQ(graph.value_of(late, kIn), graph.value_of(first, kOut));
  EXPECT_EQ(graph.value_of(again, kIn), graph.value_of(first, kOut));
  EXPECT_NE(graph.value_of(again, kIn), graph.value_of(again, kOut));
  EXPECT_EQ(graph.producer_of(graph.value_of(late, kIn)), first);
  EXPECT_EQ(graph.producer_of(graph.value_of(late, {Direction::input, 1})), -1);  // it was given
  EXPECT_THAT(graph.values[static_cast<size_t>(graph.value_of(late, kIn))].consumers,
              ElementsAre(late, again));
  EXPECT_THAT(graph.in_order(), ElementsAre(first, late, again));
  EXPECT_EQ(graph.shape, GraphShape::flat);
}

// A block is finished when the last of its children is.
TEST(TreeGraph, ChildrenFinishBeforeTheirParents) {
  Graph tree;
  const int32_t root = add(tree, -1, {}, {});
  const int32_t block = add(tree, root, {}, {}), behind = add(tree, root, {}, {});
  const int32_t inner = add(tree, block, {}, {});  // found late
  tree.connect_by_names();
  EXPECT_THAT(tree.in_order(), ElementsAre(inner, block, behind, root));
  EXPECT_THAT(tree.below(root), ElementsAre(block, inner, behind));
  EXPECT_THAT(tree.leaves(root), ElementsAre(inner, behind));
  EXPECT_THAT(tree.leaves(inner), IsEmpty());
  EXPECT_THAT(tree.roots(), ElementsAre(root));
}

}  // namespace
}  // namespace assay

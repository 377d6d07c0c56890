#include "assay/model/ge_graph.h"

#include <gmock/gmock.h>

#include <chrono>

namespace assay {
namespace {

using testing::ElementsAre;

GeOp op(std::string name, std::vector<std::string> producers) {
  GeOp made;
  made.name = std::move(name);
  for (std::string& producer : producers) made.inputs.push_back({std::move(producer), 0});
  return made;
}

TEST(GeGraph, OrdersByDependencies) {
  GeGraph graph;
  graph.ops = {op("last", {"middle", "first"}), op("middle", {"first"}), op("first", {"not here", ""})};
  graph.finish();
  EXPECT_THAT(graph.position, ElementsAre(2, 1, 0));
  EXPECT_EQ(graph.find("middle"), &graph.ops[1]);
  EXPECT_EQ(graph.find("none"), nullptr);
}

TEST(GeGraph, KeepsTheOrderOfTheFileWhereItIsRight) {
  GeGraph graph;
  graph.ops = {op("a", {}), op("b", {"a"}), op("c", {}), op("d", {"b", "c"})};
  graph.finish();
  EXPECT_THAT(graph.position, ElementsAre(0, 1, 2, 3));
}

TEST(GeGraph, EntersACycleAtItsFirstOperator) {
  GeGraph graph;
  graph.ops = {op("free", {}), op("a", {"b"}), op("b", {"a"}), op("self", {"self"})};
  graph.finish();
  EXPECT_THAT(graph.position, ElementsAre(0, 1, 2, 3));
}

TEST(GeGraph, TheFirstOfANameCounts) {
  GeGraph graph;
  graph.ops = {op("a", {}), op("a", {"a"}), op("", {})};
  graph.finish();
  EXPECT_EQ(graph.find("a"), &graph.ops[0]);
  EXPECT_THAT(graph.position, ElementsAre(0, 1, 2));
}

// Neither a ring nor a chain that is written backwards may recurse, or be searched again for every operator.
TEST(GeGraph, VeryManyOperators) {
  constexpr int kMany = 100'000;
  GeGraph ring, chain;
  for (int i = 0; i < kMany; ++i) {
    ring.ops.push_back(op(std::to_string(i), {std::to_string((i + kMany - 1) % kMany)}));
    chain.ops.push_back(op(std::to_string(i), {std::to_string(i + 1)}));
  }
  const auto begin = std::chrono::steady_clock::now();
  ring.finish();
  chain.finish();
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(10));
  EXPECT_EQ(ring.position[0], 0);
  EXPECT_EQ(ring.position[kMany - 1], kMany - 1);
  EXPECT_EQ(chain.position[0], kMany - 1);
}

}  // namespace
}  // namespace assay

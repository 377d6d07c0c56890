#include "assay/model/ge_graph.h"

#include <gmock/gmock.h>

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

}  // namespace
}  // namespace assay

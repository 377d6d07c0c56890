#include "assay/dump/torchair_graphs.h"

#include <gmock/gmock.h>

namespace assay {
namespace {

GraphFile file(int number, const std::vector<std::string>& ops) {
  GeGraph graph;
  for (const std::string& op : ops) graph.ops.push_back({op, op, {}, {}, {}});
  graph.finish();
  return {"", number, 0, std::make_shared<const GeGraph>(std::move(graph))};
}

const GraphFile* assigned(CompiledModel model, const std::vector<const GraphFile*>& graphs) {
  std::vector<CompiledModel*> models = {&model};
  assign_graphs(models, graphs);
  return model.graph;
}

TEST(TorchairGraphs, TheNumberOfTheModelTells) {
  const GraphFile one = file(1, {"Add", "Mul"}), two = file(2, {"Add", "Mul"});
  EXPECT_EQ(assigned({"graph_2", {"Add"}}, {&one, &two}), &two);
}

// Two runs into one folder leave two graphs of one number.
TEST(TorchairGraphs, OfSeveralWithOneNumberTheOneWithItsOperators) {
  const GraphFile other = file(1, {"Sub"}), own = file(1, {"Add", "Mul"});
  EXPECT_EQ(assigned({"graph_1", {"Add", "Mul"}}, {&other, &own}), &own);
  EXPECT_EQ(assigned({"graph_1", {"Add", "Mul"}}, {&own, &other}), &own);
}

TEST(TorchairGraphs, OneThatCannotBeReadIsNoGraph) {
  const GraphFile broken{"", 1, 0, nullptr}, own = file(1, {"Add"});
  EXPECT_EQ(assigned({"graph_1", {"Add"}}, {&broken, &own}), &own);
  EXPECT_EQ(assigned({"graph_1", {"Add"}}, {&broken}), nullptr);
}

TEST(TorchairGraphs, WhereNamesSayNothingTheOperatorsTell) {
  const GraphFile one = file(1, {"Sub"}), two = file(2, {"Add", "Mul"});
  EXPECT_EQ(assigned({"online", {"Add", "Mul"}}, {&one, &two}), &two);
}

}  // namespace
}  // namespace assay

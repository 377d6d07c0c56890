#include "assay/dump/torchair_graphs.h"

#include "assay/support/log.h"

#include <gmock/gmock.h>

namespace assay {
namespace {

GraphFile file(int number, const std::vector<std::string>& ops) {
  auto graph = std::make_shared<Graph>();
  for (const std::string& op : ops) graph->add({.name = graph->strings.keep(op), .type = {}});
  graph->connect_by_producers();
  return {"", number, 0, std::move(graph)};
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

// The engine numbers its models otherwise than the graphs are numbered.
TEST(TorchairGraphs, OperatorsDecideWhereTheNumberContradictsThem) {
  const GraphFile one = file(1, {"Add", "Mul"}), two = file(2, {"Sub", "Relu"});
  CompiledModel first{"graph_2", {"AddMul", "trans_Cast_3"}}, second{"graph_1", {"Sub", "Relu"}};
  std::vector<CompiledModel*> models = {&first, &second};
  std::vector<std::string> warnings;
  log::set_writer([&](log::Level, std::string_view text) { warnings.emplace_back(text); });
  assign_graphs(models, {&one, &two});
  log::set_writer({});
  EXPECT_EQ(first.graph, &one);
  EXPECT_EQ(second.graph, &two);
  EXPECT_THAT(warnings, testing::UnorderedElementsAre(testing::HasSubstr("in folder graph_2"),
                                                      testing::HasSubstr("in folder graph_1")));
}

// Operators of one model are in both graphs: the number still tells for it.
TEST(TorchairGraphs, TheNumberTellsForModelsThatFitSeveralGraphs) {
  const GraphFile one = file(1, {"Add"}), two = file(2, {"Add", "Mul"}), three = file(3, {"Sub"});
  CompiledModel first{"graph_1", {"Add"}}, second{"graph_3", {"Add", "Mul"}}, third{"graph_2", {"Sub"}};
  std::vector<CompiledModel*> models = {&third, &second, &first};
  log::set_writer([](log::Level, std::string_view) {});
  assign_graphs(models, {&one, &two, &three});
  log::set_writer({});
  EXPECT_EQ(first.graph, &one);
  EXPECT_EQ(second.graph, &two);
  EXPECT_EQ(third.graph, &three);
}

// A compiler's own operator is called like one of the other graph: that is no contradiction.
TEST(TorchairGraphs, OneOperatorOfManyDoesNotDecide) {
  std::vector<std::string> ops;
  for (int i = 0; i < 20; ++i) ops.push_back("Add_" + std::to_string(i));
  const GraphFile one = file(1, ops);
  ops.emplace_back("Add_20");
  const GraphFile two = file(2, ops);
  CompiledModel model{"graph_1", {ops.begin(), ops.end()}};
  EXPECT_EQ(assigned(model, {&one, &two}), &one);
}

TEST(TorchairGraphs, WhereNamesSayNothingTheOperatorsTell) {
  const GraphFile one = file(1, {"Sub"}), two = file(2, {"Add", "Mul"});
  EXPECT_EQ(assigned({"online", {"Add", "Mul"}}, {&one, &two}), &two);
}

}  // namespace
}  // namespace assay

#include "assay/model/origins.h"

#include <gmock/gmock.h>

namespace assay {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

Graph graph_of(const std::vector<std::string>& names) {
  Graph graph;
  for (const std::string& name : names) graph.add({.name = graph.strings.keep(name), .type = {}});
  graph.connect_by_producers();
  return graph;
}

std::vector<std::string> names_of(const Graph& graph, std::string_view op) {
  std::vector<std::string> names;
  for (const int32_t origin : origins_of(graph, op)) names.emplace_back(graph.at(origin).name);
  return names;
}

std::optional<int32_t> place_in(const Graph& graph, std::string_view op) {
  return place_of(graph, origins_of(graph, op));
}

TEST(Origins, SplitsAFusedName) {
  const Graph graph = graph_of({"Add", "Add_1", "Mul"});
  EXPECT_THAT(names_of(graph, "Add"), ElementsAre("Add"));
  EXPECT_THAT(names_of(graph, "AddAdd_1"), ElementsAre("Add", "Add_1"));
  EXPECT_THAT(names_of(graph, "Add_1Add"), ElementsAre("Add_1", "Add"));
  EXPECT_THAT(names_of(graph, "Mul_lxslice2"), ElementsAre("Mul"));
}

TEST(Origins, WantsTheWholeName) {
  const Graph graph = graph_of({"Add", "Add_1", "Mul"});
  EXPECT_THAT(names_of(graph, "Add_12"), IsEmpty());  // an operator of the compiler, not Add_1
  EXPECT_THAT(names_of(graph, "AddMulRelu"), IsEmpty());
  EXPECT_THAT(names_of(graph, "XMul"), IsEmpty());
  EXPECT_THAT(names_of(graph, ""), IsEmpty());
}

TEST(Origins, GoesBackWhereTheLongestNameLeadsNowhere) {
  const Graph graph = graph_of({"Add", "AddMul", "MulRelu", "Relu"});
  EXPECT_THAT(names_of(graph, "AddMulRelu"), ElementsAre("AddMul", "Relu"));
  const Graph narrow = graph_of({"Add", "AddMul", "MulRelu"});
  EXPECT_THAT(names_of(narrow, "AddMulRelu"), ElementsAre("Add", "MulRelu"));
}

TEST(Origins, ComesToAnEndOnHostileNames) {
  const Graph graph = graph_of({"a", "aa", "aaa"});
  EXPECT_THAT(names_of(graph, std::string(4000, 'a') + "b"), IsEmpty());
  EXPECT_EQ(names_of(graph, std::string(4000, 'a')).size(), 1334U);  // 1333 of three, one of one
}

TEST(Origins, LongNamesOfManyLengthsDoNotTakeLong) {
  std::vector<std::string> names;
  for (size_t length = 1; length <= 4096; ++length) names.emplace_back(length, 'a');
  const Graph graph = graph_of(names);
  for (int i = 0; i < 10; ++i) EXPECT_THAT(names_of(graph, std::string(4095, 'a') + "b"), IsEmpty());
  // The longest file name that is no single operator is still taken apart.
  EXPECT_EQ(names_of(graph_of({"a", "b"}), std::string(254, 'a') + "b").size(), 255U);
}

TEST(Origins, PrefersWhatTheGraphSays) {
  Graph graph = graph_of({"Conv", "Relu", "ConvRelu_fused"});
  graph.ops[2].fused_from = {"Conv", "Relu"};
  EXPECT_THAT(names_of(graph, "ConvRelu_fused"), ElementsAre("Conv", "Relu"));
}

// It is called after one of its parts, and the parts are not listed in execution order.
TEST(Origins, WhatWasSaidLaterCountsBeforeNames) {
  Graph graph = graph_of({"Mul", "Add", "Relu"});
  graph.ops[1].inputs = {{"Mul", 0}};
  graph.ops[2].inputs = {{"Add", 0}};
  graph.add_fused({.name = "Mul", .type = "Fused", .fused_from = {"Relu", "Mul", "Add"}});
  graph.add_fused({.name = "MulAdd", .type = "Fused", .fused_from = {"Mul", "Add", "Relu"}});
  graph.add_fused({.name = "Relu", .type = "Fused", .fused_from = {"Relu", "not here"}});
  graph.connect_by_producers();
  EXPECT_THAT(names_of(graph, "Mul"), ElementsAre("Mul", "Add", "Relu"));
  EXPECT_THAT(names_of(graph, "MulAdd"), ElementsAre("Mul", "Add", "Relu"));
  EXPECT_THAT(names_of(graph, "Relu"), ElementsAre("Relu"));
  EXPECT_EQ(place_in(graph, "Mul"), 2);
  EXPECT_EQ(origins_by_name(graph, "Mul").size(), 1U);
  EXPECT_EQ(origins_by_name(graph, "MulAdd").size(), 2U);
}

TEST(Origins, OutputsOfFusedOperators) {
  Graph graph = graph_of({"Mul", "Add"});
  graph.add_fused({.name = "kern",
                   .type = "Fused",
                   .outputs = {{.origin_name = "Mul", .origin_index = 1},
                               {.origin_name = "Add"},
                               {},
                               {.origin_name = "gone"}},
                   .fused_from = {"Mul", "Add"}});
  graph.add_fused({.name = "mute", .type = "Fused", .outputs = {{}, {}}, .fused_from = {"Mul", "Add"}});
  const auto origin = [&](std::string_view op, int output) -> std::string {
    const auto found = OutputOrigins(graph, op, origins_of(graph, op)).of(output);
    return found.op < 0 ? "-" : std::string(graph.at(found.op).name) + ":" + std::to_string(found.index);
  };
  EXPECT_EQ(origin("kern", 0), "Mul:1");
  EXPECT_EQ(origin("kern", 1), "Add:0");
  for (const int output : {-1, 2, 3, 4})
    EXPECT_EQ(origin("kern", output), "-");  // others are named, not these
  EXPECT_EQ(origin("mute", 1), "Add:1");
  EXPECT_EQ(origin("MulAdd", 0), "Add:0");
  EXPECT_EQ(origin("unknown", 0), "-");
}

TEST(Origins, AFusedOperatorStandsWhereTheLastOfItsOriginsDoes) {
  Graph graph = graph_of({"fused", "c", "a", "b"});
  graph.ops[0].fused_from = {"b", "a", "not here"};
  graph.ops[1].inputs = {{"b", 0}};
  graph.ops[3].inputs = {{"a", 0}};
  graph.connect_by_producers();  // fused, a, b, c
  EXPECT_EQ(place_in(graph, "fused"), 2);
  EXPECT_EQ(place_in(graph, "a"), 1);
  EXPECT_EQ(place_in(graph, "ab"), 2);
  EXPECT_EQ(place_in(graph, "ca"), 3);  // the order of the graph, not that of names
  EXPECT_EQ(place_in(graph, "a_lxslice1"), 1);
  EXPECT_EQ(place_in(graph, "nothing"), std::nullopt);
  graph.ops[0].fused_from = {"not here"};
  EXPECT_EQ(place_in(graph, "fused"), 0);
}

TEST(Origins, InputsFromOutside) {
  Graph graph = graph_of({"x", "w", "Mul", "Add"});
  graph.ops[2].inputs = {{"x", 0}, {"w", 0}};
  graph.ops[3].inputs = {{"Mul", 0}, {"x", -1}, {"", 0}, {"w", 1}};
  graph.connect_by_producers();
  const auto outer = outer_inputs(graph, std::vector<int32_t>{2, 3});
  ASSERT_EQ(outer.size(), 3U);
  EXPECT_EQ(graph.at(outer[2].op).name, "Add");
  EXPECT_EQ(outer[2].index, 1U);  // the one that is only waited for does not count
  EXPECT_EQ(outer[2].from->output, 1);
}

}  // namespace
}  // namespace assay

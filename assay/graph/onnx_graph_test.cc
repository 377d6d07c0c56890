#include "assay/graph/onnx_graph.h"

#include "assay/graph/onnx_writer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

namespace assay {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

using Names = std::vector<std::string>;

// A topology of leaves, each with what it reads and writes.
struct Leaf {
  std::string name;
  Names ins, outs;
};

AtbTopology topology_of(Names inputs, Names outputs, const std::vector<Leaf>& leaves) {
  AtbTopology topology;
  topology.inputs = std::move(inputs);
  topology.outputs = std::move(outputs);
  for (const Leaf& leaf : leaves) {
    AtbOp& op = topology.ops.emplace_back();
    op.name = leaf.name;
    op.in_tensors = leaf.ins;
    op.out_tensors = leaf.outs;
  }
  return topology;
}

OnnxTensors follow(const AtbTopology& topology) {
  return tensors_of(graph_of_level(topology, kLeaves), topology);
}

Names named(const OnnxTensors& flow, const std::vector<int32_t>& ids) {
  Names out;
  for (const int32_t id : ids) out.push_back(id < 0 ? "" : flow.names[static_cast<size_t>(id)]);
  return out;
}

// "a: x y -> z" for each node.
Names drawn(const AtbTopology& topology, const OnnxTensors& flow) {
  Names out;
  for (const OnnxNode& node : flow.nodes) {
    std::string line = topology.ops[static_cast<size_t>(node.op - 1)].name + ":";
    for (const std::string& name : named(flow, node.ins)) line += " " + name;
    line += " ->";
    for (const std::string& name : named(flow, node.outs)) line += " " + name;
    out.push_back(line);
  }
  return out;
}

// What a checker of ONNX asks for.
void expect_written_once_before_reading(const OnnxTensors& flow) {
  std::set<std::string> known;
  for (const std::string& name : named(flow, flow.inputs)) EXPECT_TRUE(known.insert(name).second) << name;
  for (const OnnxNode& node : flow.nodes) {
    for (const std::string& name : named(flow, node.ins))
      EXPECT_TRUE(name.empty() || known.contains(name)) << name;
    for (const std::string& name : named(flow, node.outs))
      EXPECT_TRUE(name.empty() || known.insert(name).second) << name;
  }
}

TEST(OnnxGraph, LeavesAGoodFileAsItIs) {
  const auto topology = topology_of({"x"}, {"z"}, {{"a", {"x"}, {"y"}}, {"b", {"y", "x"}, {"z"}}});
  const auto flow = follow(topology);
  EXPECT_THAT(drawn(topology, flow), ElementsAre("a: x -> y", "b: y x -> z"));
  EXPECT_THAT(named(flow, flow.inputs), ElementsAre("x"));
  EXPECT_THAT(named(flow, flow.outputs), ElementsAre("z"));
  EXPECT_THAT(flow.warnings, IsEmpty());
}

TEST(OnnxGraph, WeightsAndCachesThatAreReadBecomeInputs) {
  auto topology = topology_of({"x"}, {"y"}, {{"a", {"x", "w1", "k"}, {"y", "k"}}});
  topology.weights = {"w0", "w1"};
  topology.caches = {"k"};
  const auto flow = follow(topology);
  EXPECT_THAT(named(flow, flow.inputs), ElementsAre("x", "w1", "k"));
  EXPECT_THAT(drawn(topology, flow), ElementsAre("a: x w1 k -> y k#2"));
  EXPECT_THAT(flow.warnings, IsEmpty());
}

TEST(OnnxGraph, WritingInPlaceMakesANewTensor) {
  const auto topology =
      topology_of({"x"}, {"x"}, {{"a", {"x"}, {"x"}}, {"b", {"x"}, {"t"}}, {"c", {"t", "x"}, {"x"}}});
  const auto flow = follow(topology);
  EXPECT_THAT(drawn(topology, flow), ElementsAre("a: x -> x#2", "b: x#2 -> t", "c: t x#2 -> x#3"));
  EXPECT_THAT(named(flow, flow.outputs), ElementsAre("x#3"));
  expect_written_once_before_reading(flow);
}

TEST(OnnxGraph, AnOutputKeepsItsName) {
  const auto topology = topology_of({"x"}, {"y"}, {{"a", {"x"}, {"y"}}, {"b", {"y"}, {"y"}}});
  const auto flow = follow(topology);
  EXPECT_THAT(drawn(topology, flow), ElementsAre("a: x -> y#2", "b: y#2 -> y"));
  EXPECT_THAT(named(flow, flow.outputs), ElementsAre("y"));
}

TEST(OnnxGraph, NumberedNamesAvoidThoseOfTheFile) {
  const auto topology = topology_of({"x", "x#2"}, {}, {{"a", {"x"}, {"x"}}, {"b", {"x#2"}, {"x#2"}}});
  const auto flow = follow(topology);
  EXPECT_THAT(drawn(topology, flow), ElementsAre("a: x -> x#3", "b: x#2 -> x#2#2"));
}

TEST(OnnxGraph, SortsWhatStandsInTheWrongOrder) {
  const auto topology =
      topology_of({"x"}, {"z"}, {{"c", {"y"}, {"z"}}, {"a", {"x"}, {"t"}}, {"b", {"t"}, {"y"}}});
  const auto flow = follow(topology);
  EXPECT_THAT(drawn(topology, flow), ElementsAre("a: x -> t", "b: t -> y", "c: y -> z"));
  EXPECT_THAT(flow.warnings, IsEmpty());
}

TEST(OnnxGraph, CutsCirclesOpen) {
  const auto topology =
      topology_of({"x"}, {"p"}, {{"a", {"q", "q", "x"}, {"p"}}, {"b", {"p"}, {"q"}}, {"c", {"x"}, {"z"}}});
  const auto flow = follow(topology);
  EXPECT_THAT(drawn(topology, flow), ElementsAre("c: x -> z", "a: q#2 q#2 x -> p", "b: p -> q"));
  EXPECT_THAT(named(flow, flow.inputs), ElementsAre("x", "q#2"));
  EXPECT_THAT(flow.warnings, ElementsAre(HasSubstr("in a circle, shown as inputs too: 1; the first is 'q'")));
  expect_written_once_before_reading(flow);
}

TEST(OnnxGraph, AnOperationThatOnlyFeedsItselfReadsAnInput) {
  const auto topology = topology_of({}, {}, {{"a", {"t"}, {"t"}}});
  const auto flow = follow(topology);
  EXPECT_THAT(drawn(topology, flow), ElementsAre("a: t -> t#2"));
  EXPECT_THAT(named(flow, flow.inputs), ElementsAre("t"));
  EXPECT_THAT(flow.warnings, ElementsAre(HasSubstr("read and never written")));
}

TEST(OnnxGraph, ToleratesNamesThatAreEmptyRepeatedOrUnprintable) {
  const auto topology = topology_of({"x", "", "x"}, {"y", "", "y", "never"},
                                    {{"a", {"", "x"}, {"", "y", "y"}}, {"b", {"n\n", "n\\x0a"}, {}}});
  const auto flow = follow(topology);
  EXPECT_THAT(drawn(topology, flow), ElementsAre("a:  x ->  y#2 y", "b: n\\x0a n\\x0a#2 ->"));
  EXPECT_THAT(named(flow, flow.outputs), ElementsAre("y", "never"));
  EXPECT_THAT(flow.warnings,
              ElementsAre(HasSubstr("inputs: 2"), HasSubstr("outputs that nothing writes: 1")));
  expect_written_once_before_reading(flow);
}

TEST(OnnxGraph, ManyVersionsOfOneNameAreQuick) {
  std::vector<Leaf> leaves(100'000, Leaf{"a", {"x"}, {"x"}});
  const auto topology = topology_of({}, {"x"}, leaves);
  const auto flow = follow(topology);
  EXPECT_EQ(flow.names.size(), 100'001u);
  expect_written_once_before_reading(flow);
}

}  // namespace
}  // namespace assay

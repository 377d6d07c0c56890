// tests/tools/check_onnx.py has the onnx package read what is written here through our own schema.
#include "assay/graph/onnx_writer.h"

#include "schema/onnx.pb.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <fstream>
#include <limits>
#include <sstream>

namespace assay {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;

class OnnxWriterTest : public ::testing::Test {
 protected:
  OnnxWriterTest() {
    std::string pattern = (fs::temp_directory_path() / "assay_onnx_XXXXXX").string();
    root_ = ::mkdtemp(pattern.data());
  }
  ~OnnxWriterTest() override { fs::remove_all(root_); }

  onnx::Graph draw(const AtbTopology& topology, int level = kLeaves, const OnnxOptions& options = {}) {
    auto writer = FileWriter::create(root_ / "x.onnx", IfExists::replace).value();
    const auto summary = write_onnx(topology, level, options, writer);
    EXPECT_TRUE(summary) << summary.error().message;
    EXPECT_TRUE(writer.publish());
    std::ifstream file(root_ / "x.onnx", std::ios::binary);
    onnx::Model model;
    EXPECT_TRUE(model.ParseFromIstream(&file));
    EXPECT_EQ(model.graph().node_size(), summary->nodes);
    EXPECT_EQ(model.opset_import_size(), 2);
    return model.graph();
  }

  fs::path root_;
};

AtbTopology demo() {
  return read_atb_topology(fs::path(ASSAY_TEST_DATA) / "topology/Demo_Prefill.json", 1 << 20).value();
}

std::vector<std::string> names(const onnx::Graph& graph) {
  std::vector<std::string> out;
  for (const onnx::Node& node : graph.node()) out.push_back(node.name());
  return out;
}

std::vector<float> floats(const onnx::Attribute& attribute) {
  return {attribute.floats().begin(), attribute.floats().end()};
}

TEST_F(OnnxWriterTest, TakesOperationsApartToTheLevel) {
  EXPECT_THAT(names(draw(demo(), 0)), ElementsAre("Demo_Prefill"));
  EXPECT_THAT(names(draw(demo(), 1)), ElementsAre("WordEmbedding_0", "Prefill_layer_1"));
  for (const int level : {2, 7, kLeaves})
    EXPECT_THAT(names(draw(demo(), level)),
                ElementsAre("GatherOperation_0_0", "LinearOperation_1_0", "ElewiseOperation_1_1"));
}

TEST_F(OnnxWriterTest, AModelAsOneNodeHasItsNameForAType) {
  const onnx::Graph graph = draw(demo(), 0);
  EXPECT_EQ(graph.node(0).op_type(), "Demo_Prefill");
  EXPECT_THAT(graph.node(0).input(), ElementsAre("in0"));
  EXPECT_THAT(graph.node(0).output(), ElementsAre("out0"));
  AtbTopology numbered = demo();
  numbered.name = numbered.ops[0].name = "llama_7";
  EXPECT_EQ(draw(numbered, 0).node(0).op_type(), "llama_7");
}

TEST_F(OnnxWriterTest, OperationsWithoutAnyInsideAreAlwaysDrawn) {
  AtbTopology topology;
  topology.ops.emplace_back().name = "Alone_0";
  for (const int level : {kLeaves, 0, 3}) {
    const onnx::Graph graph = draw(topology, level);
    EXPECT_THAT(names(graph), ElementsAre("Alone_0"));
    EXPECT_THAT(graph.node(0).input(), ElementsAre(""));  // a node without any operand is not allowed
    EXPECT_EQ(graph.name(), "graph");
  }
}

TEST_F(OnnxWriterTest, AttributesAreStringsOrFloats) {
  AtbTopology topology;
  AtbOp& op = topology.ops.emplace_back();
  const std::string text = "t";
  op.params = {{"text", {text}, false},
               {"zero", {int64_t{0}}, false},
               {"no", {false}, false},
               {"null", {Value{}}, false},
               {"yes", {true}, false},
               {"eight", {int64_t{8}}, false},
               {"list", {int64_t{0}, 2.5, true}, true},
               {"texts", {text, int64_t{3}, 0.5, true, Value{}}, true},
               {"huge", {1e300}, false},
               {"", {int64_t{1}}, false},
               {"param", {int64_t{2}}, false}};
  const onnx::Node node = draw(topology).node(0);
  ASSERT_EQ(node.attribute_size(), 11);
  EXPECT_EQ(node.attribute(0).type(), onnx::Attribute::STRINGS);
  EXPECT_THAT(node.attribute(0).strings(), ElementsAre("t"));
  for (const int i : {1, 2, 3}) {
    EXPECT_EQ(node.attribute(i).type(), onnx::Attribute::FLOATS);
    EXPECT_THAT(floats(node.attribute(i)), IsEmpty());
  }
  EXPECT_THAT(floats(node.attribute(4)), ElementsAre(1.0f));
  EXPECT_THAT(floats(node.attribute(5)), ElementsAre(8.0f));
  EXPECT_THAT(floats(node.attribute(6)), ElementsAre(0.0f, 2.5f, 1.0f));
  EXPECT_EQ(node.attribute(7).type(), onnx::Attribute::STRINGS);
  EXPECT_THAT(node.attribute(7).strings(), ElementsAre("t", "3", "0.5", "True", "None"));
  EXPECT_THAT(floats(node.attribute(8)), ElementsAre(std::numeric_limits<float>::infinity()));
  EXPECT_EQ(node.attribute(9).name(), "param");
  EXPECT_EQ(node.attribute(10).name(), "param#2");
}

TEST_F(OnnxWriterTest, NamesThatAreMissingOrEqualAreMadeUp) {
  AtbTopology topology;
  topology.ops.resize(5);
  topology.ops[0].children = {1, 2, 3, 4};
  for (size_t i = 1; i < 5; ++i) topology.ops[i].parent = 0;
  topology.ops[1].name = topology.ops[2].name = "LinearOperation_1_0";
  topology.ops[3].type = "Add";
  topology.ops[4].name = "_3";
  const onnx::Graph graph = draw(topology);
  EXPECT_THAT(names(graph), ElementsAre("LinearOperation_1_0", "LinearOperation_1_0#2", "Add", "_3"));
  EXPECT_EQ(graph.node(0).op_type(), "LinearOperation");
  EXPECT_EQ(graph.node(3).op_type(), "_3");
}

TEST_F(OnnxWriterTest, TypesAndShapesComeFromTheTables) {
  const fs::path table = root_ / "operation_tensors_0.csv";
  std::ofstream(table) << "OpName|InDType|InShape|OutDType|OutShape\n"
                          "LinearOperation_1_0|float16;int8|3,4;4,-1|bf16|3,4\n";
  OnnxOptions options;
  options.tables = {table};
  const onnx::Graph graph = draw(demo(), kLeaves, options);
  ASSERT_EQ(graph.input_size(), 3);  // in0, w0, w1
  EXPECT_EQ(graph.input(0).type().tensor_type().elem_type(), 0);
  EXPECT_EQ(graph.input(0).type().tensor_type().shape().dim(0).dim_param(), "unknown_shape");
  const auto& weight = graph.input(2).type().tensor_type();
  EXPECT_EQ(graph.input(2).name(), "w1");
  EXPECT_EQ(weight.elem_type(), 3);
  ASSERT_EQ(weight.shape().dim_size(), 2);
  EXPECT_EQ(weight.shape().dim(0).dim_value(), 4);
  EXPECT_FALSE(weight.shape().dim(1).has_dim_value());
  ASSERT_EQ(graph.value_info_size(), 2);  // h0 and the result
  EXPECT_EQ(graph.value_info(0).name(), "h0");
  EXPECT_EQ(graph.value_info(1).type().tensor_type().elem_type(), 16);
}

}  // namespace
}  // namespace assay

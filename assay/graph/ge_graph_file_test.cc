#include "assay/graph/ge_graph_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <fstream>

namespace assay {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::SizeIs;

constexpr int64_t kMemory = int64_t{16} << 20;

std::string repeated(std::string_view text, int times) {
  std::string out;
  for (int i = 0; i < times; ++i) out += text;
  return out;
}

class GeGraphFile : public ::testing::Test {
 protected:
  GeGraphFile() {
    std::string pattern = (fs::temp_directory_path() / "assay_ge_graph_XXXXXX").string();
    folder_ = ::mkdtemp(pattern.data());
  }
  ~GeGraphFile() override { fs::remove_all(folder_); }

  Result<Graph> read(std::string_view text, int64_t memory = kMemory) const {
    const fs::path path = folder_ / "graph.txt";
    std::ofstream(path, std::ios::binary) << text;
    return read_ge_graph(path, memory);
  }
  std::string error_of(std::string_view text, int64_t memory = kMemory) const {
    const auto graph = read(text, memory);
    if (graph) return "no error";
    EXPECT_THAT(graph.error().message, AllOf(HasSubstr("graph.txt"), Not(HasSubstr("\n"))));
    return graph.error().message;
  }
  static std::vector<std::string> names(const Graph& graph) {
    std::vector<std::string> out;
    for (const GraphOp& op : graph.ops) out.emplace_back(op.name);
    return out;
  }

  fs::path folder_;
};

TEST_F(GeGraphFile, KnowsTheTypesOfOutputs) {
  const auto graph = read(
      "op { name: \"a\" output_desc { name: \"y\" dtype: DT_BF16 } output_desc { dtype: DT_NEW } "
      "output_desc { name: \"z\" } }");
  ASSERT_TRUE(graph) << graph.error().message;
  ASSERT_EQ(graph->ops.at(0).outputs.size(), 3);
  EXPECT_EQ(graph->ops[0].outputs[0].dtype, DType::bf16);
  EXPECT_EQ(graph->ops[0].outputs[1].dtype, std::nullopt);
  EXPECT_EQ(graph->ops[0].outputs[2].dtype, std::nullopt);
}

TEST_F(GeGraphFile, ReadsWhatTorchAirWrote) {
  const auto graph =
      read_ge_graph(fs::path(ASSAY_TEST_DATA) /
                        "torchair/dynamo_original_graph_1_rank_0_pid_4242_ts_20250101120000000000.txt",
                    kMemory);
  ASSERT_TRUE(graph) << graph.error().message;
  EXPECT_EQ(graph->name, "graph_1");
  EXPECT_THAT(names(*graph), ElementsAre("arg0_1", "arg1_1", "Add", "MatMul", "Mul_1", "Relu", "SplitV",
                                         "Exp", "NetOutput"));
  ASSERT_GE(graph->find("MatMul"), 0);
  const GraphOp* const mat_mul = &graph->at(graph->find("MatMul"));
  EXPECT_EQ(mat_mul->type, "MatMulV2");
  ASSERT_THAT(mat_mul->inputs, SizeIs(2));
  EXPECT_EQ(mat_mul->inputs[0].name, "Add");
  EXPECT_EQ(mat_mul->inputs[1].name, "arg1_1");
  ASSERT_THAT(mat_mul->outputs, SizeIs(1));
  EXPECT_EQ(mat_mul->outputs[0].fx_name, "mm-aten.mm.default");
  EXPECT_EQ(mat_mul->outputs[0].fx_index, 0);
  const GraphOp* const split = &graph->at(graph->find("SplitV"));
  ASSERT_THAT(split->outputs, SizeIs(2));
  EXPECT_EQ(split->outputs[1].fx_name, "split-aten.split.Tensor");
  EXPECT_EQ(split->outputs[1].fx_index, 1);
  const GraphOp* const end = &graph->at(graph->find("NetOutput"));
  ASSERT_THAT(end->inputs, SizeIs(2));
  EXPECT_EQ(end->inputs[1].name, "SplitV");
  EXPECT_EQ(end->inputs[1].output, 1);
  EXPECT_THAT(end->outputs, IsEmpty());
  EXPECT_THAT(graph->position, ElementsAre(0, 1, 2, 3, 4, 5, 6, 7, 8));
}

TEST_F(GeGraphFile, ReadsInputsOfEveryKind) {
  const auto graph =
      read(R"(op { name: "a" input: "x:12" input: "" input: "b:-1" input: "scope:op:3" input: "bare"
                                  input: "odd:99999999999" input: "odd:" })");
  ASSERT_TRUE(graph) << graph.error().message;
  std::vector<std::pair<std::string, int>> inputs;
  for (const GraphInput& input : graph->ops[0].inputs) inputs.emplace_back(input.name, input.output);
  EXPECT_EQ(
      inputs,
      (std::vector<std::pair<std::string, int>>{
          {"x", 12}, {"", 0}, {"b", -1}, {"scope:op", 3}, {"bare", 0}, {"odd:99999999999", 0}, {"odd:", 0}}));
}

// What a reader of lines stumbles over: quotes, braces and colons inside strings, blocks on one line.
TEST_F(GeGraphFile, StringsMayLookLikeBlocks) {
  const auto graph = read(R"(
op { name: "a: b" attr { key: "json" value { s: "{\"k\": {\"v\": 1}}" } } type: 'T {' }
op { name: "b" output_desc { attr { key: "_fx_tensor_name" value { s: "n-t.OUTPUT.2.OUTPUT.7" } } } }
op <name: "caf\303\251\n" output_desc: <attr: [{key: "_fx_tensor_name", value: {s: "plain"}}]>>)");
  ASSERT_TRUE(graph) << graph.error().message;
  EXPECT_THAT(names(*graph), ElementsAre("a: b", "b", "caf\xc3\xa9\n"));
  EXPECT_EQ(graph->ops[0].type, "T {");
  EXPECT_EQ(graph->ops[1].outputs[0].fx_name, "n-t.OUTPUT.2");
  EXPECT_EQ(graph->ops[1].outputs[0].fx_index, 7);
  EXPECT_EQ(graph->ops[2].outputs[0].fx_name, "plain");
}

TEST_F(GeGraphFile, ReadsWhatAFusedOperatorWasMadeOf) {
  const auto graph = read(R"(name: "model" version: 1
graph {
  name: "compiled"
  op {
    name: "MulRelu" type: "AutomaticBufferFusionOp"
    attr { key: "_datadump_original_op_names" value { list { s: "Mul" s: "" s: "Relu" val_type: VT_LIST_STRING } } }
    output_desc {
      attr { key: "_datadump_origin_name" value { s: "Relu" } }
      attr { key: "_datadump_origin_output_index" value { i: 1 } }
      attr { key: "_datadump_origin_format" value { s: "ND" } }
    }
  }
}
graph { name: "branch" op { name: "inner" } })");
  ASSERT_TRUE(graph) << graph.error().message;
  EXPECT_EQ(graph->name, "compiled");
  EXPECT_THAT(names(*graph), ElementsAre("MulRelu", "inner"));
  EXPECT_THAT(graph->ops[0].fused_from, ElementsAre("Mul", "Relu"));
  ASSERT_THAT(graph->ops[0].outputs, SizeIs(1));
  EXPECT_EQ(graph->ops[0].outputs[0].origin_name, "Relu");
  EXPECT_EQ(graph->ops[0].outputs[0].origin_index, 1);
  EXPECT_EQ(graph->ops[0].outputs[0].fx_name, "");
}

TEST_F(GeGraphFile, AValueMayStandBeforeItsKey) {
  const auto graph = read(R"(op { output_desc { attr { value { s: "n-t.OUTPUT.1" } key: "_fx_tensor_name" } }
                                  attr { value { s: "other" } key: "other" } })");
  ASSERT_TRUE(graph) << graph.error().message;
  EXPECT_EQ(graph->ops[0].outputs[0].fx_name, "n-t");
  EXPECT_THAT(graph->ops[0].fused_from, IsEmpty());
}

TEST_F(GeGraphFile, FindsGraphsInsideAttributes) {
  const auto graph = read(R"(
op {
  name: "If"
  attr { key: "then" value { g { name: "t" op { name: "yes" output_desc {
    attr { key: "_fx_tensor_name" value { s: "y-t.OUTPUT.0" } } } } } } }
  attr { key: "_datadump_original_op_names" value { list { g { op { name: "no" } } g { op { name: "never" } } } } }
  output_desc { name: "y" }
  type: "If"
}
op { name: "last" })");
  ASSERT_TRUE(graph) << graph.error().message;
  EXPECT_EQ(graph->name, "");
  EXPECT_THAT(names(*graph), ElementsAre("If", "yes", "no", "never", "last"));
  EXPECT_EQ(graph->ops[0].type, "If");
  EXPECT_THAT(graph->ops[0].outputs, SizeIs(1));
  EXPECT_EQ(graph->ops[0].outputs[0].fx_name, "");
  EXPECT_EQ(graph->ops[1].outputs[0].fx_name, "y-t");
}

TEST_F(GeGraphFile, KeepsOperatorsWithoutAndWithTheSameName) {
  const auto graph =
      read(R"(op { } op { name: "a" type: "1" } op { name: "a" type: "2" } attr { key: "x" })");
  ASSERT_TRUE(graph) << graph.error().message;
  EXPECT_THAT(names(*graph), ElementsAre("", "a", "a"));
  EXPECT_EQ(graph->at(graph->find("a")).type, "1");
}

TEST_F(GeGraphFile, PassesOverWeightsOfAnySize) {
  const std::string weights =
      repeated("\\000\\001\\\"\\\\", 100'000);  // 1.2 MB, in a graph that may take 64 KiB
  const auto graph =
      read("op { name: \"w\" attr { key: \"value\" value { t { desc { dtype: DT_FLOAT } data: \"" + weights +
               "\" } } } attr { key: \"s\" value { s: \"" + weights + "\" } } } op { name: \"x\" }",
           1 << 16);
  ASSERT_TRUE(graph) << graph.error().message;
  EXPECT_THAT(names(*graph), ElementsAre("w", "x"));
}

TEST_F(GeGraphFile, AttributesThatNobodyWantsCostNoMemory) {
  const std::string attributes = repeated(R"(attr { key: "some_name" value { s: "some text" } })", 10'000);
  EXPECT_TRUE(read("op { name: \"a\" " + attributes + "}", 1 << 16));
}

TEST_F(GeGraphFile, BoundsWhatAGraphMayTake) {
  EXPECT_THAT(error_of(repeated("op{}", 1000), 1 << 16), HasSubstr("more memory than the 64.0 KiB allowed"));
  EXPECT_THAT(error_of("op { name: \"" + std::string(70'000, 'x') + "\" }", 1 << 16), HasSubstr("64.0 KiB"));
  const std::string texts = repeated("s:\"\"", 2000);
  EXPECT_THAT(error_of("op { attr { value { list { " + texts + "} } } }", 1 << 16), HasSubstr("64.0 KiB"));
}

TEST_F(GeGraphFile, DepthCostsNoStack) {
  const std::string down = "op { name: \"x\" attr { value { g { ", up = "} } } } ";
  const auto graph = read(repeated(down, 20'000) + repeated(up, 20'000));
  ASSERT_TRUE(graph) << graph.error().message;
  EXPECT_THAT(graph->ops, SizeIs(20'000));
  EXPECT_TRUE(
      read("op { name: \"x\" } attr { value { td " + repeated("{ a ", 50'000) + "{" + repeated("}", 50'003)));
}

TEST_F(GeGraphFile, SaysWhatTheFileIsInstead) {
  EXPECT_THAT(error_of("node { name: \"a\" op: \"Add\" input: \"b\" }"),
              AllOf(HasSubstr("TensorFlow"), HasSubstr("type \"txt\"")));
  EXPECT_THAT(error_of("ir_version: 6\ngraph { node { name: \"a\" } }"), HasSubstr("an ONNX model"));
  EXPECT_THAT(error_of("producer_name: \"ge\" graph { node { name: \"a\" } }"), HasSubstr("an ONNX model"));
  EXPECT_THAT(error_of("# -*- coding: utf-8 -*-\nfrom torch import tensor\nimport torchair\n"),
              AllOf(HasSubstr("Python"), HasSubstr("type \"txt\"")));
  EXPECT_THAT(error_of(""), HasSubstr("no operators"));
  EXPECT_THAT(error_of("name: \"graph_1\""), HasSubstr("no operators"));
  EXPECT_THAT(error_of("{\"a\": 1}"),
              AllOf(HasSubstr("graph.txt:1: found '{'"), HasSubstr("GE graph in text")));
  EXPECT_THAT(error_of(std::string_view("\x0a\x07graph_1\x00\x01", 11)), HasSubstr("found '\\x07'"));
}

TEST_F(GeGraphFile, SaysWhereABrokenFileBreaks) {
  EXPECT_THAT(error_of("op {\n  name: \"a\"\n}\nop {\n  name: \"b\"\n"),
              HasSubstr("graph.txt:6: the file ends inside the block of line 4"));
  EXPECT_THAT(error_of("op { name: \"a\" }\nop { name: \"b }\n"),
              HasSubstr("graph.txt:2: a string does not end in its line"));
  EXPECT_THAT(error_of("op { name: \"a\" }\n}"), HasSubstr("graph.txt:2: found '}'"));
}

TEST_F(GeGraphFile, AMissingFileIsAnError) {
  const auto graph = read_ge_graph(folder_ / "none.txt", kMemory);
  ASSERT_FALSE(graph);
  EXPECT_THAT(graph.error().message, HasSubstr("none.txt"));
}

}  // namespace
}  // namespace assay

#include "assay/match/compiled/run_graph.h"

#include "assay/match/compiled/torchair_test_tools.h"

#include <gmock/gmock.h>

#include <numeric>

namespace assay {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

// "0: result 3.1", "1: given", "2: unknown"; nodes of the pairing are those of the frame.
Texts sources(const Frame& frame, size_t node) {
  std::vector<int32_t> paired(frame.nodes.size());
  std::iota(paired.begin(), paired.end(), 0);
  Pairing pairing;  // all outputs have a partner but those of nodes with a star
  for (size_t i = 0; i < frame.nodes.size(); ++i) {
    PairedNode& made = pairing.nodes.emplace_back();
    for (size_t item = 0; item < frame.nodes[i].items.size(); ++item) {
      made.pairs.push_back({ItemId{0, static_cast<int32_t>(i), static_cast<int32_t>(item)}, ItemId{}});
      if (frame.nodes[i].type == "*") made.pairs.back().golden.reset();
    }
  }
  Texts found;
  for (const InputSource& source : RunGraph(frame).sources_of(node, paired, pairing))
    found.push_back(source.kind == InputSource::Kind::result
                        ? fmt::format("{}: result {}.{}", source.port, source.node, source.output)
                        : fmt::format("{}: {}", source.port,
                                      source.kind == InputSource::Kind::given ? "given" : "unknown"));
  return found;
}

Frame frame_of(const std::vector<TestNode>& nodes, const std::vector<TestGeOp>& ops) {
  return make_graph_frame("ge", nodes, make_graph(ops));
}

const std::vector<TestGeOp> kOps = {{"x", "Data"},
                                    {"w", "Const"},
                                    {"Split", "Split", {{"x", 0}}},
                                    {"Shape", "Reshape", {{"Split", 1}, {"w", 0}}},
                                    {"Hidden", "Exp", {{"x", 0}}},
                                    {"Mul", "Mul", {{"Shape", 0}, {"w", 0}, {"Split", -1}}},
                                    {"Add", "Add", {{"Mul", 0}, {"Hidden", 0}}},
                                    {"Relu", "Relu", {{"Mul", 0}}}};

TEST(RunGraph, TracesInputsToResults) {
  // Outputs were dumped and nothing else.
  const Frame frame = frame_of({{"Split", "", {}, {{0}, {1}}},
                                {"Mul", "", {}, {{0}}},
                                {"Add", "", {}, {{0}}},
                                {"Relu", "", {}, {{0}}}},
                               kOps);
  EXPECT_THAT(sources(frame, 0), ElementsAre("0: given"));
  EXPECT_THAT(sources(frame, 1), ElementsAre("0: result 0.1", "1: given"));  // through a view that never ran
  EXPECT_THAT(sources(frame, 2), ElementsAre("0: result 1.0", "1: unknown"));
}

TEST(RunGraph, TakesTheNumbersOfInputsThatWereDumped) {
  const auto add = [](std::vector<TestTensor> inputs) {
    return frame_of({{"Mul", "", {}, {{0}}}, {"Add", "", std::move(inputs), {{0}}}}, kOps);
  };
  EXPECT_THAT(sources(add({{3}, {5}}), 1), ElementsAre("3: result 0.0", "5: unknown"));
  EXPECT_THAT(sources(add({{0}}), 1), IsEmpty());  // which of the two it is nobody says
}

TEST(RunGraph, LooksOutOfFusedOperators) {
  const Frame frame =
      frame_of({{"Split", "", {}, {{0}, {1}}}, {"MulAdd", "", {}, {{0}}}, {"Relu", "", {}, {{0}}}}, kOps);
  EXPECT_THAT(sources(frame, 1), ElementsAre("0: result 0.1", "1: given", "2: unknown"));
  EXPECT_THAT(sources(frame, 2), ElementsAre("0: unknown"));  // Mul left no result behind
}

// The engine copies a tensor where FX has no node for it.
TEST(RunGraph, LooksThroughCopiesWithoutAPartner) {
  const std::vector<TestGeOp> ops = {{"x", "Data"},
                                     {"Mul", "Mul", {{"x", 0}}},
                                     {"Move", "TensorMove", {{"Mul", 0}}},
                                     {"Exp", "Exp", {{"Move", 0}}}};
  const auto frame = [&](const std::string& type_of_move, const std::string& type_of_mul) {
    return frame_of(
        {{"Mul", type_of_mul, {}, {{0}}}, {"Move", type_of_move, {}, {{0}}}, {"Exp", "", {}, {{0}}}}, ops);
  };
  EXPECT_THAT(sources(frame("", ""), 2), ElementsAre("0: result 1.0"));
  EXPECT_THAT(sources(frame("*", ""), 2), ElementsAre("0: result 0.0"));
  EXPECT_THAT(sources(frame("*", "*"), 2), ElementsAre("0: result 0.0"));  // no copy: it made its result
}

TEST(RunGraph, IsNotCaughtInCircles) {
  const Frame frame = frame_of({{"Relu", "", {}, {{0}}}}, {{"a", "Reshape", {{"b", 0}}},
                                                           {"b", "Reshape", {{"a", 0}}},
                                                           {"Relu", "Relu", {{"a", 0}, {"nowhere", 0}}}});
  EXPECT_THAT(sources(frame, 0), ElementsAre("0: unknown", "1: unknown"));
  EXPECT_THAT(RunGraph(frame).coarsest_types(), ElementsAre(DType::f16));
}

TEST(RunGraph, KnowsWhichTypesWentBefore) {
  const Frame frame = frame_of({{"Quant", "", {}, {{0, DType::f8e4m3fn}}},
                                {"MatMul", "", {{0, DType::f32}, {1, DType::f32}}, {{0, DType::f32}}},
                                {"Cast", "", {{0, DType::bf16}}, {{0, DType::f32}}},
                                {"Sum", "", {}, {{0, DType::f32}}},
                                {"trans_Cast_7", "", {}, {{0, DType::f32}}}},
                               {{"x", "Data"},
                                {"Quant", "Quant", {{"x", 0}}},
                                {"MatMul", "MatMulV2", {{"x", 0}, {"x", 0}}},
                                {"Cast", "Cast", {{"x", 0}}},
                                {"Exp", "Exp", {{"Cast", 0}}},  // not dumped
                                {"Sum", "Add", {{"MatMul", 0}, {"Exp", 0}}}});
  // What the compiler put in has no place in the graph.
  EXPECT_THAT(RunGraph(frame).coarsest_types(),
              ElementsAre(DType::f8e4m3fn, DType::f32, DType::bf16, DType::bf16, DType::f8e4m3fn));
}

// Extremes of bf16 are f32 in their files; the weights are what they are on both sides.
TEST(RunGraph, TheGraphKnowsTypesThatFilesDoNot) {
  const auto graph =
      make_graph({{"w", "Const"}, {"Mul", "Mul", {{"w", 0}}, {{"mul", 0}}}, {"Exp", "Exp", {{"Mul", 0}}}});
  graph->ops[0].outputs.emplace_back().dtype = DType::f8e4m3fn;
  graph->ops[1].outputs.at(0).dtype = DType::bf16;
  graph->connect_by_producers();
  const Frame frame =
      make_graph_frame("ge", {{"Mul", "", {}, {{0, DType::f32}}}, {"Exp", "", {}, {{0, DType::f32}}}}, graph);
  EXPECT_THAT(RunGraph(frame).coarsest_types(), ElementsAre(DType::bf16, DType::bf16));
}

}  // namespace
}  // namespace assay

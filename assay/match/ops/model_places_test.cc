#include "assay/match/ops/model_places.h"

#include "assay/match/compiled/torchair_test_tools.h"
#include "assay/match/ops/op_test_tools.h"

#include <gmock/gmock.h>

namespace assay {
namespace {

using testing::ElementsAre;

const Texts kOut = {"after/outtensor0.bin"};

Frame atb_model(const std::string& linear) {
  return make_op_frame("atb", {{.path = "0_WordEmbedding", .files = kOut},
                               {.path = "1_layer", .files = kOut},
                               {.path = "1_layer/0_" + linear, .files = kOut},
                               {.path = "2_layer", .files = kOut},
                               {.path = "2_layer/0_Mlp", .files = kOut},
                               {.path = "2_layer/0_Mlp/0_" + linear, .files = kOut},
                               {.path = "3_RmsNormOperation", .files = kOut},
                               {.path = "4_LmHead", .files = kOut}});
}

// One node per node of mine, each with one pair, in their order.
Matched paired(Frame mine, Frame golden) {
  Matched matched;
  for (int32_t i = 0; i < std::ssize(mine.nodes); ++i) {
    PairedNode& node = matched.pairing.nodes.emplace_back();
    node.name = mine.nodes[static_cast<size_t>(i)].name;
    node.pairs.push_back({ItemId{0, i, 0}, ItemId{0, 0, 0}});
  }
  matched.frames.mine.push_back(std::move(mine));
  matched.frames.golden.push_back(std::move(golden));
  note_model_places(matched);
  return matched;
}

Texts places(const Matched& matched) {
  Texts found;
  for (const PairedNode& node : matched.pairing.nodes)
    found.push_back(std::string(node.name) + " " + std::to_string(node.place.layers_before) +
                    (node.place.is_group ? " group" : "") + (node.place.is_quantised ? " int8" : ""));
  return found;
}

TEST(ModelPlaces, CountsTheLayersBefore) {
  EXPECT_THAT(places(paired(atb_model("LinearOperation"), atb_model("LinearOperation"))),
              ElementsAre("0_WordEmbedding 0", "1_layer 0 group", "1_layer/0_LinearOperation 0",
                          "2_layer 1 group", "2_layer/0_Mlp 1 group", "2_layer/0_Mlp/0_LinearOperation 1",
                          "3_RmsNormOperation 2", "4_LmHead 2"));
}

// Both quantised: nothing of the difference is owed to int8.
TEST(ModelPlaces, KnowsThatOneSideIsQuantised) {
  const std::string plain = "LinearOperation", small = "LinearQuantOperation";
  for (const auto& [mine, golden] : {std::pair{small, plain}, std::pair{plain, small}}) {
    const Matched matched = paired(atb_model(mine), atb_model(golden));
    EXPECT_FALSE(matched.pairing.nodes.front().place.is_quantised);  // the embedding comes before it all
    for (size_t i = 1; i < matched.pairing.nodes.size(); ++i)
      EXPECT_TRUE(matched.pairing.nodes[i].place.is_quantised) << matched.pairing.nodes[i].name;
  }
  for (const PairedNode& node : paired(atb_model(small), atb_model(small)).pairing.nodes)
    EXPECT_FALSE(node.place.is_quantised);
  for (const PairedNode& node : paired(atb_model("LinearNoQuant"), atb_model(plain)).pairing.nodes)
    EXPECT_FALSE(node.place.is_quantised);
}

// What runs before the first operator in int8, or one that is only called so, is judged as ever.
TEST(ModelPlaces, BeginsToBeQuantisedWhereItIs) {
  const auto model = [](const TestOp& last) {
    return make_op_frame("atb", {{.path = "0_layer", .files = kOut},
                                 {.path = "0_layer/0_LinearOperation", .files = kOut},
                                 {.path = "1_layer", .files = kOut},
                                 {.path = "1_layer/0_LinearOperation", .files = kOut},
                                 {.path = "2_LmHead", .files = kOut},
                                 last});
  };
  const Texts files = {"before/intensor0.bin", "after/outtensor0.bin"};
  const TestOp plain = {.path = "3_LinearOperation", .files = files};
  const TestOp real = {.path = "3_QuantOperation", .files = files};
  TestOp whole = real;
  whole.dtype = DType::i8;
  EXPECT_THAT(places(paired(model(real), model(plain))),
              ElementsAre("0_layer 0 group", "0_layer/0_LinearOperation 0", "1_layer 1 group",
                          "1_layer/0_LinearOperation 1", "2_LmHead 2", "3_QuantOperation 2"));
  EXPECT_THAT(places(paired(model(whole), model(plain))),
              ElementsAre("0_layer 0 group", "0_layer/0_LinearOperation 0", "1_layer 1 group",
                          "1_layer/0_LinearOperation 1", "2_LmHead 2 int8", "3_QuantOperation 2 int8"));
}

TEST(ModelPlaces, TakesModulesOfTorch) {
  const Texts out = {"output.pth"};
  const auto model = [&] {
    return make_op_frame("pytorch", {{.path = "root", .type = "Model"},
                                     {.path = "root.embed", .files = out},
                                     {.path = "root.layers", .type = "ModuleList"},
                                     {.path = "root.layers.0", .files = out, .type = "Block"},
                                     {.path = "root.layers.0.linear", .files = out},
                                     {.path = "root.layers.1", .type = "Block"},
                                     {.path = "root.layers.1.linear", .files = out},
                                     {.path = "root.lm_head", .files = out}});
  };
  EXPECT_THAT(places(paired(model(), model())),
              ElementsAre("root.embed 0", "root.layers.0 0 group", "root.layers.0.linear 0",
                          "root.layers.1.linear 1", "root.lm_head 2"));
}

// A layer whose operators were not dumped stands for itself.
TEST(ModelPlaces, CallsNothingAGroupWhoseInsideWasNotDumped) {
  const auto model = [] {
    return make_op_frame("atb", {{.path = "0_layer", .files = kOut},
                                 {.path = "0_layer/0_LinearOperation"},
                                 {.path = "1_layer", .files = kOut},
                                 {.path = "1_layer/0_LinearOperation"}});
  };
  EXPECT_THAT(places(paired(model(), model())), ElementsAre("0_layer 0", "1_layer 1"));
}

// A compiled graph has no layers; eight products of matrices stand for one.
TEST(ModelPlaces, CountsProductsInAGraph) {
  std::vector<TestNode> ops;
  for (int i = 0; i < 9; ++i)
    ops.push_back({fmt::format("op_{}", i), i % 2 ? "BatchMatMulV2" : "Conv2D", {}, {{0}}});
  ops.push_back({"last", "Add", {}, {{0}}});
  const Matched matched = paired(make_graph_frame("ge", ops), make_graph_frame("fx", {}));
  EXPECT_EQ(matched.pairing.nodes[7].place.layers_before, 0);
  EXPECT_EQ(matched.pairing.nodes[8].place.layers_before, 1);  // eight are finished when it runs
  EXPECT_EQ(matched.pairing.nodes[9].place.layers_before, 1);
}

// What was f16 once is no better than f16 for all that comes after it.
TEST(ModelPlaces, RemembersTheCoarsestType) {
  const Matched matched = paired(make_graph_frame("ge", {{"a", "", {}, {{0, DType::f32}}},
                                                         {"b", "", {{0, DType::bf16, {2}, false}}},
                                                         {"c", "", {{0, DType::i8}}, {{0, DType::f16}}},
                                                         {"d", "", {}, {{0, DType::f32}}},
                                                         {"e", "", {}, {{0, DType::bf16}}},
                                                         {"f", "", {}, {{0, DType::f16}}}}),
                                 make_graph_frame("ge", {{"a", "", {}, {{0}}}}));
  std::vector<DType> coarsest;
  for (const PairedNode& node : matched.pairing.nodes) coarsest.push_back(node.place.coarsest);
  EXPECT_THAT(coarsest,
              ElementsAre(DType::f32, DType::f32, DType::f16, DType::f16, DType::bf16, DType::bf16));
}

// The pairs that are constant, by their numbers; those of one node in each frame.
std::vector<size_t> constants(Frame mine, Frame golden) {
  Matched matched;
  PairedNode& node = matched.pairing.nodes.emplace_back();
  for (int32_t i = 0; i < std::ssize(mine.nodes.back().items); ++i) {
    const auto last_of = [](const Frame& frame) { return static_cast<int32_t>(frame.nodes.size()) - 1; };
    node.pairs.push_back({ItemId{0, last_of(mine), i}, ItemId{0, last_of(golden), i}});
  }
  matched.frames.mine.push_back(std::move(mine));
  matched.frames.golden.push_back(std::move(golden));
  note_model_places(matched);
  std::vector<size_t> found;
  for (size_t i = 0; i < node.pairs.size(); ++i)
    if (node.pairs[i].is_constant) found.push_back(i);
  return found;
}

// Hidden states that another model made, tables and caches come from outside as well: only what a dump calls
// a weight is one.
TEST(ModelPlaces, KnowsTheWeightsOfAModel) {
  const Texts files = {"before/intensor0.bin", "before/intensor1.bin", "after/outtensor0.bin"};
  const auto model = [&](const std::string& weight, const std::string& written) {
    return make_op_frame("atb", {{.path = "0_NormOperation", .inputs = {"x"}, .outputs = {written}},
                                 {.path = "1_LinearOperation",
                                  .files = files,
                                  .inputs = {"x", "w"},
                                  .outputs = {"y"},
                                  .weight = weight}});
  };
  EXPECT_THAT(constants(model("w", "h"), model("w", "h")), ElementsAre(1));
  EXPECT_THAT(constants(model("", "h"), model("", "h")), ElementsAre());
  EXPECT_THAT(constants(model("w", "h"), model("", "h")),
              ElementsAre(1));  // a graph of golden without a list
  EXPECT_THAT(constants(model("w", "h"), model("w", "w")), ElementsAre());  // golden computes it
  EXPECT_THAT(constants(model("w", "w"), model("w", "h")), ElementsAre());
  const auto module = [] {
    return make_op_frame(
        "pytorch", {{.path = "root", .type = "Model"},
                    {.path = "root.fc", .files = {"input_0.pth", "weight", "output.pth"}, .type = "Linear"}});
  };
  EXPECT_THAT(constants(module(), module()), ElementsAre(1));
  EXPECT_THAT(constants(model("", "h"), module()), ElementsAre(1));
  EXPECT_THAT(constants(module(), model("w", "w")), ElementsAre());
}

// What a compiled model is called with may be anything.
TEST(ModelPlaces, KnowsTheConstantsOfAGraph) {
  const auto frame = [](const std::string& first) {
    return make_graph_frame("ge", {{"Mul", "Mul", {{0}, {1}, {2}}, {{0}}}},
                            make_graph({{"x", first},
                                        {"w", "Const"},
                                        {"Turned", "Transpose", {{"w", 0}}},
                                        {"Cast", "Cast", {{"w", 0}}},
                                        {"Mul", "Mul", {{"x", 0}, {"Turned", 0}, {"Cast", 0}, {"x", -1}}}}));
  };
  EXPECT_THAT(constants(frame("Data"), frame("Data")), ElementsAre(1));
  EXPECT_THAT(constants(frame("Const"), frame("FileConstant")), ElementsAre(0, 1));
  EXPECT_THAT(constants(frame("Const"), frame("Variable")), ElementsAre(1));
}

TEST(ModelPlaces, SaysNothingWithoutTrees) {
  Frame plain = atb_model("LinearOperation");
  plain.graph = nullptr;
  for (const PairedNode& node : paired(atb_model("LinearOperation"), std::move(plain)).pairing.nodes)
    EXPECT_EQ(node.place.layers_before, 0);
}

}  // namespace
}  // namespace assay

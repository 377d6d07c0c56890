#include "assay/match/ops/inference.h"
#include "assay/match/ops/op_test_tools.h"

#include <gmock/gmock.h>

namespace assay {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::Not;
using ::testing::StartsWith;

const Texts kInOut = {"before/intensor0.bin", "after/outtensor0.bin"};

Frame graph(int start, const Texts& types) {
  std::vector<TestOp> ops;
  for (const std::string& type : types) {
    TestOp op{.path = fmt::format("{}_{}", start++, type), .files = kInOut};
    op.inputs = {fmt::format("in{}", start)};
    op.outputs = {fmt::format("out{}", start)};
    ops.push_back(op);
  }
  return make_op_frame("atb", ops);
}

TEST(AtbAtb, PairsRenumberedOperators) {
  const Matched matched =
      match_frames(atb_atb_matcher, graph(0, {"Linear", "Norm"}), graph(5, {"Linear", "Norm"}), {});
  EXPECT_THAT(pairs_of(matched), ElementsAre("0_Linear/before/intensor0.bin|5_Linear/before/intensor0.bin",
                                             "0_Linear/after/outtensor0.bin|5_Linear/after/outtensor0.bin",
                                             "1_Norm/before/intensor0.bin|6_Norm/before/intensor0.bin",
                                             "1_Norm/after/outtensor0.bin|6_Norm/after/outtensor0.bin"));
  EXPECT_FALSE(matched.pairing.graphs_differ);
  EXPECT_TRUE(matched.pairing.repeats_batch);
}

Frame layers(const std::string& type) {
  std::vector<TestOp> ops = {{.path = "0_Embedding", .files = kInOut, .inputs = {"ids"}, .outputs = {"x0"}}};
  for (int n = 0; n < 2; ++n) {
    const std::string path = fmt::format("{}_{}", n + 1, type), in = fmt::format("x{}", n);
    ops.push_back({.path = path, .files = kInOut, .inputs = {in}, .outputs = {fmt::format("x{}", n + 1)}});
    ops.push_back(
        {.path = path + "/0_RmsNormOperation", .files = kInOut, .inputs = {in}, .outputs = {in + "n"}});
    ops.push_back({.path = path + "/1_LinearOperation",
                   .files = kInOut,
                   .inputs = {in + "n"},
                   .outputs = {fmt::format("x{}", n + 1)}});
  }
  return make_op_frame("atb", ops);
}

// By what is in them, and their order.
TEST(AtbAtb, PairsBlocksOfOtherNames) {
  const Matched matched = match_frames(atb_atb_matcher, layers("Prefill_layer"), layers("DecoderBlock"), {});
  const Texts pairs = pairs_of(matched);
  EXPECT_EQ(pairs.size(), 14U);
  EXPECT_THAT(pairs, Contains("1_Prefill_layer/1_LinearOperation/after/outtensor0.bin|1_DecoderBlock/"
                              "1_LinearOperation/after/outtensor0.bin"));
  EXPECT_THAT(pairs, Contains("2_Prefill_layer/after/outtensor0.bin|2_DecoderBlock/after/outtensor0.bin"));
}

TEST(AtbAtb, StepsOverInsertedOperators) {
  const Matched matched = match_frames(atb_atb_matcher, graph(0, {"Linear", "Elewise", "Norm", "Linear"}),
                                       graph(0, {"Linear", "Norm", "Linear"}), {});
  const Texts pairs = pairs_of(matched);
  EXPECT_THAT(pairs, Contains("1_Elewise/after/outtensor0.bin|-"));
  EXPECT_THAT(pairs, Contains("2_Norm/after/outtensor0.bin|1_Norm/after/outtensor0.bin"));
  EXPECT_THAT(pairs, Contains("3_Linear/after/outtensor0.bin|2_Linear/after/outtensor0.bin"));
  EXPECT_TRUE(matched.pairing.graphs_differ);
}

TEST(AtbAtb, TakesAQuantisedLinearForALinear) {
  const Matched matched = match_frames(atb_atb_matcher, graph(0, {"LinearQuantOperation", "Norm"}),
                                       graph(0, {"LinearOperation", "Norm"}), {});
  EXPECT_THAT(pairs_of(matched),
              Contains("0_LinearQuantOperation/after/outtensor0.bin|0_LinearOperation/after/outtensor0.bin"));
  EXPECT_TRUE(matched.pairing.dequantises);
}

// Sums of products of int8 are not what the plain operator gives; what scales them is.
TEST(AtbAtb, TakesTheDequantisedSums) {
  Frame mine = make_op_frame("atb", {{.path = "0_LinearQuantOperation",
                                      .files = kInOut,
                                      .inputs = {"x"},
                                      .outputs = {"sums"},
                                      .dtype = DType::i32},
                                     {.path = "1_ElewiseOperation",
                                      .files = kInOut,
                                      .inputs = {"sums"},
                                      .outputs = {"y"},
                                      .elewise_type = 18}});
  const Texts pairs =
      pairs_of(match_frames(atb_atb_matcher, std::move(mine), graph(0, {"LinearOperation"}), {}));
  EXPECT_THAT(pairs, Contains("0_LinearQuantOperation/after/outtensor0.bin|-"));
  EXPECT_THAT(pairs,
              Contains("1_ElewiseOperation/after/outtensor0.bin|0_LinearOperation/after/outtensor0.bin"));
}

// A block that takes more weights counts its inputs in another way.
TEST(AtbAtb, PairsInputsOfABlockByTheirValue) {
  Frame mine = make_op_frame(
      "atb", {{.path = "0_Block",
               .files = {"before/intensor0.bin", "before/intensor1.bin", "before/intensor2.bin"},
               .inputs = {"x", "scale", "mask"},
               .outputs = {"y"}},
              {.path = "0_Block/0_Quant", .inputs = {"x", "scale"}, .outputs = {"small"}},
              {.path = "0_Block/1_Core",
               .files = {"after/outtensor0.bin"},
               .inputs = {"small", "mask"},
               .outputs = {"y"}}});
  Frame golden = make_op_frame("atb", {{.path = "0_Block",
                                        .files = {"before/intensor0.bin", "before/intensor1.bin"},
                                        .inputs = {"a", "b"},
                                        .outputs = {"c"}},
                                       {.path = "0_Block/0_Core",
                                        .files = {"after/outtensor0.bin"},
                                        .inputs = {"a", "b"},
                                        .outputs = {"c"}}});
  const Texts pairs = pairs_of(match_frames(atb_atb_matcher, std::move(mine), std::move(golden), {}));
  EXPECT_THAT(pairs, Contains("0_Block/before/intensor2.bin|0_Block/before/intensor1.bin"));
  EXPECT_THAT(pairs, Contains("0_Block/before/intensor1.bin|-"));
}

std::string plan_of_same(const Matched& matched, Side side, std::string_view name) {
  return plan_of(matched, side, name, name);
}

const std::string kWeight = "0_LinearOperation/before/intensor1.bin";

Frame plain_projection(size_t ranks, std::vector<int64_t> weight) {
  return make_op_frame("atb", {{.path = "0_LinearOperation",
                                .files = {"before/intensor1.bin"},
                                .inputs = {"x", "w"},
                                .outputs = {"y"},
                                .dims = std::move(weight),
                                .ranks = ranks}});
}

TEST(AtbAtb, JoinsTheSharesOfAWeight) {
  for (const std::vector<int64_t>& share : {std::vector<int64_t>{4, 6}, {8, 3}}) {
    const Matched matched =
        match_frames(atb_atb_matcher, plain_projection(2, share), plain_projection(1, {8, 6}), {});
    EXPECT_EQ(plan_of_same(matched, Side::golden, kWeight), "weight(" + kWeight + "; 1, 0)");
    EXPECT_EQ(plan_of_same(matched, Side::mine, kWeight), "as it stands");
  }
  const Matched exchanged =
      match_frames(atb_atb_matcher, plain_projection(1, {8, 6}), plain_projection(2, {8, 3}), {});
  EXPECT_EQ(plan_of_same(exchanged, Side::mine, kWeight), "weight(" + kWeight + "; 1, 0)");
  const Matched two_and_four =
      match_frames(atb_atb_matcher, plain_projection(4, {2, 6}), plain_projection(2, {4, 6}), {});
  EXPECT_EQ(plan_of_same(two_and_four, Side::golden, kWeight), "weight(" + kWeight + "; 1, 0)");
}

// Over ranks a projection is a block that adds up what each of them gives.
TEST(AtbAtb, LooksIntoTheBlockOfARowParallelProjection) {
  Frame mine = make_op_frame("atb", {{.path = "0_LinearRowParallelNoAdd",
                                      .files = kInOut,
                                      .inputs = {"x", "w"},
                                      .outputs = {"sum"},
                                      .ranks = 2},
                                     {.path = "0_LinearRowParallelNoAdd/0_LinearOperation",
                                      .files = {"before/intensor1.bin", "after/outtensor0.bin"},
                                      .inputs = {"x", "w"},
                                      .outputs = {"part"},
                                      .dims = {8, 3},
                                      .ranks = 2},
                                     {.path = "0_LinearRowParallelNoAdd/1_AllReduceOperation",
                                      .inputs = {"part"},
                                      .outputs = {"sum"},
                                      .ranks = 2}});
  Frame golden = make_op_frame("atb", {{.path = "0_LinearOperation",
                                        .files = {"before/intensor1.bin"},
                                        .inputs = {"x", "w"},
                                        .outputs = {"y"},
                                        .dims = {8, 6},
                                        .output_dims = {2, 4}}});
  const Texts pairs = pairs_of(match_frames(atb_atb_matcher, std::move(mine), std::move(golden), {}));
  EXPECT_THAT(pairs, Contains("0_LinearRowParallelNoAdd/0_LinearOperation/before/intensor1.bin|"
                              "0_LinearOperation/before/intensor1.bin"));
  EXPECT_THAT(
      pairs,
      Contains("0_LinearRowParallelNoAdd/after/outtensor0.bin|0_LinearOperation/after/outtensor0.bin"));
  EXPECT_THAT(pairs, Contains("0_LinearRowParallelNoAdd/0_LinearOperation/after/outtensor0.bin|-"));
}

TEST(AtbAtb, LeavesSharesAloneThatDoNotFit) {
  const Matched matched =
      match_frames(atb_atb_matcher, plain_projection(2, {3, 6}), plain_projection(1, {8, 6}), {});
  EXPECT_THAT(pairs_of(matched), ElementsAre("-|0_LinearOperation/before/intensor1.bin",
                                             "0_LinearOperation/before/intensor1.bin|-"));
  EXPECT_THAT(reasons_of(matched), ElementsAre(Why::other_shape));
}

// Every rank has its share of the gate and of what it lets through.
TEST(AtbAtb, CutsAFusedWeightWhereItsResultIsSplit) {
  const auto graph_of = [](size_t ranks, int64_t rows, int64_t width) {
    return make_op_frame("atb", {{.path = "0_LinearOperation",
                                  .files = {"before/intensor1.bin"},
                                  .inputs = {"x", "w"},
                                  .outputs = {"both"},
                                  .dims = {rows, 6},
                                  .ranks = ranks},
                                 {.path = "1_SplitOperation",
                                  .files = {"after/outtensor0.bin", "after/outtensor1.bin"},
                                  .inputs = {"both"},
                                  .outputs = {"gate", "up"},
                                  .dims = {2, width},
                                  .ranks = ranks}});
  };
  const Matched matched = match_frames(atb_atb_matcher, graph_of(2, 8, 4), graph_of(1, 16, 8), {});
  EXPECT_EQ(plan_of_same(matched, Side::golden, kWeight),
            fmt::format("cut({0}; 0, 0, 8) cut({0}; 0, 8, 8) join(#1, #2; 0) weight(#3; 1, 0)", kWeight));
}

// SwiGLU takes the gate and what it lets through as one tensor.
TEST(AtbAtb, CutsAFusedWeightInHalvesWhereAnActivationTakesBoth) {
  const auto graph_of = [](size_t ranks, int64_t half) {
    return make_op_frame("atb", {{.path = "0_LinearOperation",
                                  .files = {"before/intensor1.bin"},
                                  .inputs = {"x", "w"},
                                  .outputs = {"both"},
                                  .dims = {2 * half, 6},
                                  .ranks = ranks},
                                 {.path = "1_ActivationOperation",
                                  .files = {"before/intensor0.bin"},
                                  .inputs = {"both"},
                                  .outputs = {"gated"},
                                  .dims = {2, 2 * half},
                                  .ranks = ranks,
                                  .output_dims = {2, half}}});
  };
  const Matched matched = match_frames(atb_atb_matcher, graph_of(2, 4), graph_of(1, 8), {});
  EXPECT_EQ(plan_of_same(matched, Side::golden, kWeight),
            fmt::format("cut({0}; 0, 0, 8) cut({0}; 0, 8, 8) join(#1, #2; 0) weight(#3; 1, 0)", kWeight));
  const std::string both = "1_ActivationOperation/before/intensor0.bin";
  EXPECT_EQ(plan_of_same(matched, Side::golden, both),
            fmt::format("cut({0}; -1, 0, 8) cut({0}; -1, 8, 8) join(#1, #2; -1)", both));
}

TEST(AtbAtb, PairsTheParametersOfModules) {
  const auto module = [] {
    return make_op_frame("pytorch", {{.path = "root"}, {.path = "root.fc", .files = {"weight", "bias"}}});
  };
  EXPECT_THAT(pairs_of(match_frames(atb_atb_matcher, module(), module(), {})),
              ElementsAre("root.fc/weight|root.fc/weight", "root.fc/bias|root.fc/bias"));
}

TEST(AtbAtb, WorksOnEmptyFrames) {
  EXPECT_THAT(pairs_of(match_frames(atb_atb_matcher, make_op_frame("atb", {}), graph(0, {"Norm"}), {})),
              ElementsAre("-|0_Norm/before/intensor0.bin", "-|0_Norm/after/outtensor0.bin"));
}

}  // namespace
}  // namespace assay

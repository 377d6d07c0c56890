#include "assay/golden/golden_test_tools.h"

#include <bit>
#include <limits>

namespace assay {
namespace {

using testing::DoubleNear;
using testing::Each;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Le;

constexpr double kLinearInf = std::numeric_limits<double>::infinity();

std::vector<OpParam> linear_params(bool transpose_a, bool transpose_b, bool has_bias, int64_t acl = -1) {
  return {param_of("transposeA", {transpose_a}), param_of("transposeB", {transpose_b}),
          param_of("hasBias", {has_bias}), param_of("outDataType", {acl})};
}

OperandPtr packed_scales(const std::vector<float>& scales) {
  std::vector<std::byte> bytes;
  for (const float scale : scales) {
    const auto wide = static_cast<uint64_t>(std::bit_cast<uint32_t>(scale));
    const auto* const from = reinterpret_cast<const std::byte*>(&wide);
    bytes.insert(bytes.end(), from, from + sizeof(wide));
  }
  return dense_in_memory(std::move(bytes), TensorMeta{DType::i64, Shape{{std::ssize(scales)}}});
}

// ‖1 2 3‖ times ‖1 0 2‖ᵀ = ‖ 7 5‖
// ‖4 5 6‖       ‖0 1 1‖    ‖16 11‖
TEST(GoldenLinear, MultipliesInEveryOrientation) {
  const auto x = tensor_of(DType::f16, {2, 3}, {1, 2, 3, 4, 5, 6});
  const auto x_t = tensor_of(DType::f16, {3, 2}, {1, 4, 2, 5, 3, 6});
  const auto w = tensor_of(DType::f16, {2, 3}, {1, 0, 2, 0, 1, 1});
  const auto w_t = tensor_of(DType::f16, {3, 2}, {1, 0, 0, 1, 2, 1});
  for (const bool a : {false, true})
    for (const bool b : {false, true}) {
      const auto out =
          GoldenTry{"LinearOperation", linear_params(a, b, false), {a ? x_t : x, b ? w : w_t}}.run();
      ASSERT_TRUE(out.has_value()) << out.error().message;
      EXPECT_EQ((*out)[0].dtype, DType::f16);
      EXPECT_EQ((*out)[0].value->meta.shape, (Shape{{2, 2}}));
      EXPECT_THAT(written((*out)[0]), ElementsAre(7, 5, 16, 11));
      EXPECT_THAT(allowed_of((*out)[0]), Each(Le(1e-4)));
    }
}

TEST(GoldenLinear, AddsTheBiasToTheRoundedProduct) {
  // 2049 is no f16: 2048 + 1 is 2049, rounded to 2048.
  const auto out = GoldenTry{"LinearOperation",
                             linear_params(false, true, true),
                             {tensor_of(DType::f16, {1, 2}, {2048, 1}), tensor_of(DType::f16, {1, 2}, {1, 1}),
                              tensor_of(DType::f16, {1}, {-2000})}}
                       .run();
  ASSERT_TRUE(out.has_value());
  EXPECT_THAT(written((*out)[0]), ElementsAre(48));
  EXPECT_GE(allowed_of((*out)[0])[0], 1.0);  // who adds before rounding gets 49
  EXPECT_LE(allowed_of((*out)[0])[0], 2.1);
}

TEST(GoldenLinear, WidensToTheBiasOnlyWhereTheOutputIsNotKnown) {
  GoldenTry run{"LinearOperation",
                linear_params(false, true, true),
                {tensor_of(DType::bf16, {1, 1}, {2}), tensor_of(DType::bf16, {1, 1}, {3}),
                 tensor_of(DType::f32, {1}, {0.125})}};
  EXPECT_EQ(run.run().value()[0].dtype, DType::f32);
  run.out = {TensorMeta{DType::bf16, Shape{{1, 1}}}};
  EXPECT_EQ(run.run().value()[0].dtype, DType::bf16);
}

TEST(GoldenLinear, ReadsWeightsInBlocks) {
  // 4 rows of 32: row r holds r + 1 in the first 16 columns and -1 in the others.
  std::vector<double> blocks;
  for (int half = 0; half < 2; ++half)
    for (int row = 0; row < 4; ++row) blocks.insert(blocks.end(), 16, half == 0 ? row + 1 : -1);
  std::vector<double> x(32, 1.0);
  x[0] = 3;
  const auto in = tensor_of(DType::f16, {1, 32}, x);
  GoldenTry run{
      "LinearOperation", linear_params(false, true, false), {in, tensor_of(DType::f16, {4, 32}, blocks)}};
  run.soc = Soc::ascend_310p;
  EXPECT_THAT(written(run.run().value()[0]), ElementsAre(2, 20, 38, 56));
  run.soc = Soc::unknown;
  run.in[1] = tensor_of(DType::f16, {1, 2, 4, 16}, blocks);
  EXPECT_THAT(written(run.run().value()[0]), ElementsAre(2, 20, 38, 56));
  run.soc = Soc::ascend_310p;
  run.in = {tensor_of(DType::f16, {1, 3}, {1, 1, 1}), tensor_of(DType::f16, {1, 3}, {1, 1, 1})};
  EXPECT_THAT(error_of(run.run()).message, HasSubstr("blocks of 16"));
}

TEST(GoldenLinear, ScalesSumsOfInt8) {
  const std::vector<OperandPtr> in = {tensor_of(DType::i8, {1, 3}, {127, -128, 1}),
                                      tensor_of(DType::i8, {2, 3}, {127, -128, 0, 1, 1, 1}),
                                      tensor_of(DType::i32, {1, 2}, {-32000, 10})};
  GoldenTry run{"LinearOperation", linear_params(false, true, true, 1), in};
  run.in.push_back(packed_scales({0.5f, 4.0f}));
  const auto out = run.run();
  ASSERT_TRUE(out.has_value()) << out.error().message;
  EXPECT_EQ((*out)[0].dtype, DType::f16);
  EXPECT_THAT(written((*out)[0]), ElementsAre((127 * 127 + 128 * 128 - 32000) * 0.5, 40));
  // The scale is plain where bf16 is written, and the last input where there is no bias.
  run.params = linear_params(false, true, false, 27);
  run.in = {in[0], in[1], tensor_of(DType::f32, {2}, {1, 0.25})};
  EXPECT_THAT(written(run.run().value()[0]), ElementsAre(32512, 0));
  run.params.push_back(param_of("quantMode", {int64_t{2}}));
  run.in.push_back(tensor_of(DType::f32, {1}, {2}));
  EXPECT_THAT(written(run.run().value()[0]), ElementsAre(65024, 0));
  run.in.back() = tensor_of(DType::f32, {3}, {2, 2, 2});
  EXPECT_THAT(error_of(run.run()).message, HasSubstr("3 scales of tokens for 1 tokens"));
}

TEST(GoldenLinear, KeepsLongSumsOfInt8Exact) {
  // 127 * 127 * 4001 is beyond 2^24 and odd.
  const std::vector<double> row(4001, 127);
  GoldenTry run{"LinearOperation",
                linear_params(false, true, false, 0),
                {tensor_of(DType::i8, {1, 4001}, row), tensor_of(DType::i8, {1, 4001}, row),
                 tensor_of(DType::f32, {1}, {1})}};
  const auto out = run.run();
  ASSERT_TRUE(out.has_value()) << out.error().message;
  EXPECT_EQ(numbers_of(*(*out)[0].value, 1000).value().values[0], 127.0 * 127 * 4001);
}

TEST(GoldenLinear, AllowsForBitsOfAScaleThatTheCubeIgnores) {
  const float exact = 0.5f, inexact = std::bit_cast<float>(std::bit_cast<uint32_t>(0.5f) + 0x1FFFu);
  GoldenTry run{"LinearOperation",
                linear_params(false, true, false, 1),
                {tensor_of(DType::i8, {1, 1}, {10}), tensor_of(DType::i8, {2, 1}, {10, 10}),
                 packed_scales({exact, inexact})}};
  const auto allowed = allowed_of(run.run().value()[0]);
  EXPECT_LT(allowed[0], 1e-4);
  EXPECT_GT(allowed[1], 50 * 0x1F00p-23);
}

TEST(GoldenLinear, AccumulatesInPlace) {
  auto params = linear_params(false, true, false);
  params.push_back(param_of("enAccum", {true}));
  GoldenTry run{"LinearOperation",
                params,
                {tensor_of(DType::f16, {1, 2}, {1, 2}), tensor_of(DType::f16, {2, 2}, {1, 1, 2, 2}),
                 tensor_of(DType::f32, {1, 2}, {0.5, -6})}};
  const auto out = run.run();
  ASSERT_TRUE(out.has_value());
  EXPECT_EQ((*out)[0].dtype, DType::f32);
  EXPECT_THAT(written((*out)[0]), ElementsAre(3.5, 0));
  run.in[2] = tensor_of(DType::f32, {3}, {0, 0, 0});
  EXPECT_THAT(error_of(run.run()).message, HasSubstr("accumulator"));
}

TEST(GoldenLinear, MultipliesBatches) {
  const auto x = tensor_of(DType::f32, {2, 1, 2}, {1, 2, 3, 4});
  const auto w = tensor_of(DType::f32, {2, 2, 1}, {1, 10, 100, 1000});
  GoldenTry run{"LinearOperation", linear_params(false, false, false), {x, w}};
  const auto out = run.run();
  EXPECT_EQ(out.value()[0].value->meta.shape, (Shape{{2, 1, 1}}));
  EXPECT_THAT(written(out.value()[0]), ElementsAre(21, 4300));
  run.in[1] = tensor_of(DType::f32, {2, 1}, {1, 10});
  EXPECT_THAT(written(run.run().value()[0]), ElementsAre(21, 43));
  run.in[1] = tensor_of(DType::f32, {3, 2, 1}, {1, 1, 1, 1, 1, 1});
  EXPECT_THAT(error_of(run.run()).message, HasSubstr("do not fit"));
  // m b k, b k n: of each row of x its second dimension chooses the weight.
  run.params.push_back(param_of("matmulType", {int64_t{1}}));
  run.in = {tensor_of(DType::f32, {1, 2, 2}, {1, 2, 3, 4}), w};
  const auto einsum = run.run();
  EXPECT_EQ(einsum.value()[0].value->meta.shape, (Shape{{1, 2, 1}}));
  EXPECT_THAT(written(einsum.value()[0]), ElementsAre(21, 4300));
}

TEST(GoldenLinear, KeepsWhatIsNotFinite) {
  const auto out = GoldenTry{"LinearOperation",
                             linear_params(false, true, false),
                             {tensor_of(DType::f16, {2, 2}, {kLinearInf, 1, 1, 1}),
                              tensor_of(DType::f16, {2, 2}, {1, 1, 0, 1})}}
                       .run();
  const auto values = written(out.value()[0]);
  EXPECT_EQ(values[0], kLinearInf);
  EXPECT_TRUE(std::isnan(values[1]));  // infinity times zero
  EXPECT_EQ(values[2], 2);
  EXPECT_THAT(allowed_of(out.value()[0])[0], 0);
}

TEST(GoldenLinear, TakesTensorsWithoutRows) {
  const auto out =
      GoldenTry{"LinearOperation",
                linear_params(false, true, false),
                {tensor_of(DType::f16, {0, 4}, {}), tensor_of(DType::f16, {3, 4}, std::vector<double>(12))}}
          .run();
  EXPECT_EQ(out.value()[0].value->meta.shape, (Shape{{0, 3}}));
  const auto empty_sums = GoldenTry{"LinearOperation",
                                    linear_params(false, true, false),
                                    {tensor_of(DType::f16, {2, 0}, {}), tensor_of(DType::f16, {3, 0}, {})}}
                              .run();
  EXPECT_THAT(written(empty_sums.value()[0]), Each(0));
}

TEST(GoldenLinear, RefusesWhatDoesNotFit) {
  const auto x = tensor_of(DType::f16, {2, 3}, {1, 2, 3, 4, 5, 6});
  GoldenTry run{"LinearOperation", linear_params(false, true, false), {x}};
  EXPECT_THAT(error_of(run.run()).message, HasSubstr("takes 2 to 5 inputs"));
  run.in = {x, tensor_of(DType::f16, {2, 2}, {1, 2, 3, 4})};
  EXPECT_THAT(error_of(run.run()).message, HasSubstr("rows of 3 elements"));
  run.params = {param_of("transposeB", {true})};
  EXPECT_THAT(error_of(run.run()).message, HasSubstr("transposeA is missing"));
  run.params = linear_params(false, true, false, 12);
  EXPECT_THAT(error_of(run.run()).message, HasSubstr("outDataType is 12"));
  run.params = linear_params(false, true, true);
  run.in = {x, x, tensor_of(DType::f16, {3}, {1, 2, 3})};
  EXPECT_THAT(error_of(run.run()).message, HasSubstr("bias has 3 elements, for 2 columns"));
  run.in = {x, x};
  EXPECT_THAT(error_of(run.run()).message, HasSubstr("takes 3 inputs"));
  run.params.push_back(param_of("matmulType", {int64_t{7}}));
  EXPECT_THAT(error_of(run.run()).message, HasSubstr("matmulType is 7"));
  run = {"LinearOperation",
         linear_params(false, true, false),
         {tensor_of(DType::f16, {1, 2}, {1, 2}), tensor_of(DType::i8, {1, 2}, {1, 2})}};
  EXPECT_EQ(error_of(run.run()).kind, ErrorKind::mismatch);
}

TEST(GoldenMatmul, WritesHalf) {
  const auto out = GoldenTry{"MatmulOperation",
                             {param_of("transposeA", {false}), param_of("transposeB", {false})},
                             {tensor_of(DType::f32, {1, 2}, {1, 2}), tensor_of(DType::f32, {2, 1}, {3, 4.5})}}
                       .run();
  EXPECT_EQ(out.value()[0].dtype, DType::f16);
  EXPECT_THAT(written(out.value()[0]), ElementsAre(12));
}

TEST(GoldenLinearSparse, SaysWhyItIsNotChecked) {
  const GoldenTry run{"LinearSparseOperation",
                      {param_of("transposeA", {false}), param_of("transposeB", {true})},
                      {tensor_of(DType::i8, {1, 2}, {1, 2})}};
  EXPECT_EQ(error_of(run.run()).kind, ErrorKind::unsupported);
  EXPECT_THAT(error_of(run.run()).message, HasSubstr("compressed"));
}

// Against plain sums, at sizes that tiles do not divide.
TEST(GoldenLinear, AgreesWithPlainSumsAtOddSizes) {
  const int64_t m = 37, n = 301, k = 1030;
  std::vector<double> x, w;
  for (int64_t i = 0; i < m * k; ++i) x.push_back(static_cast<double>(i * 7919 % 201 - 100));
  for (int64_t i = 0; i < n * k; ++i) w.push_back(static_cast<double>(i * 104729 % 255 - 127));
  for (const DType dtype : {DType::f32, DType::i8}) {
    GoldenTry run{"LinearOperation",
                  linear_params(false, true, false, dtype == DType::i8 ? 0 : -1),
                  {tensor_of(dtype, {m, k}, x), tensor_of(dtype, {n, k}, w)}};
    if (dtype == DType::i8) run.in.push_back(tensor_of(DType::f32, {1}, {1}));
    const auto out = run.run();
    ASSERT_TRUE(out.has_value());
    const std::vector<double> values = numbers_of(*(*out)[0].value, 1 << 20).value().values;
    for (const int64_t i : {int64_t{0}, m / 2, m - 1})
      for (const int64_t j : {int64_t{0}, int64_t{255}, int64_t{256}, n - 1}) {
        double sum = 0;
        for (int64_t at = 0; at < k; ++at)
          sum += x[static_cast<size_t>(i * k + at)] * w[static_cast<size_t>(j * k + at)];
        EXPECT_EQ(values[static_cast<size_t>(i * n + j)], sum);
      }
  }
}

// ----- strided batches

std::vector<OpParam> strided_params() {
  const auto list = [](std::string key, int64_t value) { return OpParam{std::move(key), {value}, true}; };
  return {param_of("batch", {int64_t{1}}),
          param_of("headNum", {int64_t{2}}),
          param_of("transposeA", {false}),
          param_of("transposeB", {true}),
          list("m", 2),
          list("n", 2),
          list("k", 3),
          list("lda", 6),
          list("ldb", 6),
          list("ldc", 4),
          list("strideA", 3),
          list("strideB", 3),
          list("strideC", 2)};
}

TEST(GoldenStridedBatchMatmul, PicksHeadsOutOfFlatBuffers) {
  // Rows of both heads alternate: a = head 0 ‖1 1 1‖ ‖2 2 2‖, head 1 ‖1 0 0‖ ‖0 0 1‖.
  const auto a = tensor_of(DType::f16, {12}, {1, 1, 1, 1, 0, 0, 2, 2, 2, 0, 0, 1});
  const auto b = tensor_of(DType::f16, {12}, {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12});
  GoldenTry run{"StridedBatchMatmulOperation", strided_params(), {a, b}};
  const auto out = run.run();
  ASSERT_TRUE(out.has_value()) << out.error().message;
  EXPECT_THAT(written((*out)[0]), ElementsAre(6, 24, 4, 10, 12, 48, 6, 12));
  EXPECT_EQ((*out)[0].known, nullptr);
  // A larger output has elements that nobody writes.
  run.out = {TensorMeta{DType::f16, Shape{{9}}}};
  EXPECT_THAT(numbers_of(*run.run().value()[0].known, 1000).value().values,
              ElementsAre(1, 1, 1, 1, 1, 1, 1, 1, 0));
  run.out = {TensorMeta{DType::f16, Shape{{7}}}};
  EXPECT_THAT(error_of(run.run()).message, HasSubstr("reaches beyond"));
}

TEST(GoldenStridedBatchMatmul, RefusesWhatLeavesTheBuffers) {
  GoldenTry run{"StridedBatchMatmulOperation",
                strided_params(),
                {tensor_of(DType::f16, {11}, std::vector<double>(11)),
                 tensor_of(DType::f16, {12}, std::vector<double>(12))}};
  EXPECT_THAT(error_of(run.run()).message, HasSubstr("reaches beyond"));
  run.params[7].values = {int64_t{1} << 62};
  EXPECT_FALSE(run.run().has_value());
  run.params[0].values = {int64_t{2}};
  EXPECT_THAT(error_of(run.run()).message, HasSubstr("has 1 numbers, batch is 2"));
  run.params = {};
  EXPECT_THAT(error_of(run.run()).message, HasSubstr("headNum is missing"));
}

}  // namespace
}  // namespace assay

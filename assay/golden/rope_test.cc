#include "assay/golden/golden_test_tools.h"

#include <numeric>

namespace assay {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

OperandPtr counting(DType dtype, std::vector<int64_t> dims) {
  std::vector<double> values(static_cast<size_t>(Shape{dims}.count()));
  std::iota(values.begin(), values.end(), 1);
  return tensor_of(dtype, std::move(dims), values);
}

OperandPtr filled(DType dtype, std::vector<int64_t> dims, double value) {
  const auto count = static_cast<size_t>(Shape{dims}.count());
  return tensor_of(dtype, std::move(dims), std::vector<double>(count, value));
}

GoldenTry rope_try(int64_t coefficient, std::vector<OperandPtr> in, int64_t format = 0) {
  return {"RopeOperation",
          {param_of("rotaryCoeff", {coefficient}), param_of("cosFormat", {format})},
          std::move(in)};
}

std::vector<double> output(const GoldenTry& call, size_t k) {
  const auto outs = call.run();
  EXPECT_TRUE(outs.has_value()) << (outs ? "" : outs.error().message);
  return outs ? written(outs->at(k)) : std::vector<double>();
}

// With cos 0 and sin 1 all that is left is what an element turns into.
TEST(Rope, TurnsByHalvesQuartersAndPairs) {
  const OperandPtr q = counting(DType::f16, {1, 8}), zero = filled(DType::f16, {1, 8}, 0);
  const OperandPtr one = filled(DType::f16, {1, 8}, 1), length = tensor_of(DType::i32, {1}, {1});
  EXPECT_THAT(output(rope_try(2, {q, q, zero, one, length}), 0), ElementsAre(-5, -6, -7, -8, 1, 2, 3, 4));
  EXPECT_THAT(output(rope_try(4, {q, q, zero, one, length}), 0), ElementsAre(-3, -4, 1, 2, -7, -8, 5, 6));
  EXPECT_THAT(output(rope_try(64, {q, q, zero, one, length}), 1), ElementsAre(-2, 1, -4, 3, -6, 5, -8, 7));
  EXPECT_THAT(output(rope_try(8, {q, q, zero, one, length}), 1), ElementsAre(-2, 1, -4, 3, -6, 5, -8, 7));
  EXPECT_THAT(output(rope_try(2, {q, q, one, zero}), 0), ElementsAre(1, 2, 3, 4, 5, 6, 7, 8));
}

TEST(Rope, PairsTakeTheAngleOfTheirEvenElement) {
  const OperandPtr q = counting(DType::f32, {1, 4}), cos = tensor_of(DType::f32, {1, 4}, {2, 100, 3, 100});
  const OperandPtr sin = tensor_of(DType::f32, {1, 4}, {10, 100, 20, 100});
  EXPECT_THAT(output(rope_try(64, {q, q, cos, sin}), 0), ElementsAre(2 - 20, 4 + 10, 9 - 80, 12 + 60));
}

TEST(Rope, HasFewerKeysThanQueriesAndFourDimensions) {
  const OperandPtr q = counting(DType::f16, {1, 2, 2, 2}), k = counting(DType::f16, {2, 2});
  const OperandPtr cos = tensor_of(DType::f16, {2, 2}, {1, 1, 2, 2}), sin = filled(DType::f16, {2, 2}, 1);
  EXPECT_THAT(output(rope_try(2, {q, k, cos, sin}), 0), ElementsAre(-1, 3, -1, 7, 4, 17, 6, 23));
  EXPECT_THAT(output(rope_try(2, {q, k, cos, sin}), 1), ElementsAre(-1, 3, 2, 11));
  const OperandPtr deep = counting(DType::f16, {2, 2, 2});  // tokens, heads, head
  EXPECT_THAT(output(rope_try(2, {deep, k, cos, sin}), 0), ElementsAre(-1, 3, -1, 7, 4, 17, 6, 23));
}

// A kernel that keeps f32 gives one smallest step here, one that rounds both products gives 0.
TEST(Rope, AllowsForProductsThatVanishInF16) {
  constexpr double kStep = 0x1p-24;
  const OperandPtr q = tensor_of(DType::f16, {1, 2}, {kStep, -kStep});
  const OperandPtr half = filled(DType::f16, {1, 2}, 0.5);
  const auto outs = rope_try(2, {q, q, half, half}).run();
  ASSERT_TRUE(outs.has_value()) << outs.error().message;
  EXPECT_EQ(written(outs->at(0))[0], 0);
  EXPECT_GE(allowed_of(outs->at(0))[0], kStep);
}

TEST(Rope, StartsAgainWithEachSample) {
  const OperandPtr q = filled(DType::f16, {3, 2}, 1), cos = tensor_of(DType::f16, {3, 2}, {1, 1, 2, 2, 9, 9});
  const OperandPtr sin = filled(DType::f16, {3, 2}, 0), lengths = tensor_of(DType::i32, {2}, {1, 2});
  EXPECT_THAT(output(rope_try(2, {q, q, cos, sin, lengths}, 1), 0), ElementsAre(1, 1, 1, 1, 2, 2));
  EXPECT_THAT(output(rope_try(2, {q, q, cos, sin, lengths}, 0), 0), ElementsAre(1, 1, 2, 2, 9, 9));
}

// 3 · 0.3 and 3 · 0.1 in f16 are 0.900146484375 and 0.2999267578125, both halfway between two numbers of f16.
TEST(Rope, RoundsProductsAsTheTablesSay) {
  const OperandPtr q = filled(DType::f16, {1, 2}, 3);
  const auto with = [&](DType tables) {
    return rope_try(2, {q, q, filled(tables, {1, 2}, 0.3), filled(tables, {1, 2}, 0.1)}).run();
  };
  const auto rounded = with(DType::f16), wide = with(DType::f32);
  ASSERT_TRUE(rounded.has_value() && wide.has_value());
  EXPECT_EQ(numbers_of(*rounded->at(0).value, 1000)->values[0], 0.900390625 - 0.2998046875);
  EXPECT_NEAR(numbers_of(*wide->at(0).value, 1000)->values[0], 0.6, 1e-7);
  EXPECT_GT(allowed_of(rounded->at(0))[0], 5e-4);
  EXPECT_LT(allowed_of(wide->at(0))[0], 1e-6);
}

TEST(Rope, RefusesWhatDoesNotFit) {
  const OperandPtr q = counting(DType::f16, {2, 4}), table = filled(DType::f16, {2, 4}, 1);
  const auto message = [](const GoldenTry& call) { return error_of(call.run()).message; };
  EXPECT_THAT(message({"RopeOperation", {}, {q, q, table, table}}), HasSubstr("rotaryCoeff is missing"));
  EXPECT_THAT(message(rope_try(3, {q, q, table, table})), HasSubstr("rotaryCoeff is 3"));
  EXPECT_THAT(message(rope_try(2, {q, q, table, table}, 2)), HasSubstr("cosFormat is 2"));
  EXPECT_THAT(message(rope_try(2, {q, q, table})), HasSubstr("takes 4 to 5 inputs"));
  EXPECT_THAT(message(rope_try(2, {q, q, table, table}, 1)), HasSubstr("takes 5 inputs"));
  EXPECT_THAT(message(rope_try(2, {q, q, table, filled(DType::f16, {2, 2}, 1)})),
              HasSubstr("[2, 4] and [2, 2]"));
  EXPECT_THAT(message(rope_try(2, {q, q, filled(DType::f16, {1, 4}, 1), filled(DType::f16, {1, 4}, 1)})),
              HasSubstr("2 tokens, and angles for 1"));
  const OperandPtr odd = filled(DType::f16, {2, 3}, 1), six = filled(DType::f16, {2, 6}, 1);
  EXPECT_THAT(message(rope_try(2, {q, q, odd, odd})), HasSubstr("does not turn"));
  EXPECT_THAT(message(rope_try(4, {six, six, six, six})), HasSubstr("does not turn"));
  EXPECT_THAT(message(rope_try(2, {q, q, six, six})), HasSubstr("not whole heads"));
  EXPECT_THAT(message(rope_try(2, {q, counting(DType::f32, {2, 4}), table, table})),
              HasSubstr("f16 and f32"));
  for (const std::vector<double>& bad : {std::vector<double>{-1, 3}, {2, 3}, {3, 0}, {1, 0}}) {
    const OperandPtr lengths = tensor_of(DType::i32, {2}, bad);
    EXPECT_FALSE(rope_try(2, {q, q, table, table, lengths}, 1).run().has_value());
  }
  const OperandPtr none = filled(DType::f16, {0, 4}, 0);
  EXPECT_THAT(output(rope_try(2, {none, none, none, none}), 0), ElementsAre());
}

GoldenTry rope_grad_try(std::vector<Value> lengths, std::vector<OperandPtr> in) {
  return {"RopeGradOperation", {OpParam{"c_qSeqLen", std::move(lengths), true}}, std::move(in)};
}

// cos + (sin of the second half, -sin of the first): (1 + 4, 2 - 3) for the first row, (5 + 8, 6 - 7) for the
// second.
TEST(RopeGrad, MultipliesByTheTables) {
  const OperandPtr cos = tensor_of(DType::f16, {2, 2}, {1, 2, 5, 6}),
                   sin = tensor_of(DType::f16, {2, 2}, {3, 4, 7, 8});
  const OperandPtr dq = filled(DType::f16, {3, 4}, 1), dk = filled(DType::f16, {3, 2}, 2);
  const GoldenTry call = rope_grad_try({int64_t{1}, int64_t{2}}, {dq, dk, cos, sin});
  EXPECT_THAT(output(call, 0), ElementsAre(5, -1, 5, -1, 5, -1, 5, -1, 13, -1, 13, -1));
  EXPECT_THAT(output(call, 1), ElementsAre(10, -2, 10, -2, 26, -2));
  GoldenTry former = call;
  former.params[0].key = "qSeqLen";
  EXPECT_THAT(output(former, 1), ElementsAre(10, -2, 10, -2, 26, -2));
}

TEST(RopeGrad, RefusesLengthsThatDoNotFit) {
  const OperandPtr d = filled(DType::f16, {3, 4}, 1), table = filled(DType::f16, {2, 4}, 1);
  const auto message = [&](std::vector<Value> lengths) {
    return error_of(rope_grad_try(std::move(lengths), {d, d, table, table}).run()).message;
  };
  EXPECT_THAT(message({int64_t{3}}), HasSubstr("a sample of 3 tokens, where cos has 2 rows"));
  EXPECT_THAT(message({int64_t{2}}), HasSubstr("2 tokens"));
  EXPECT_THAT(message({int64_t{4}, int64_t{-1}}), HasSubstr("no sum"));
  EXPECT_THAT(message({int64_t{1} << 62, int64_t{1} << 62}), HasSubstr("no sum"));
  EXPECT_THAT(error_of(GoldenTry{"RopeGradOperation", {}, {d, d, table, table}}.run()).message,
              HasSubstr("c_qSeqLen is missing"));
}

}  // namespace
}  // namespace assay

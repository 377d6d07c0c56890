#include "assay/golden/golden_test_tools.h"

#include <cmath>

namespace assay {
namespace {

using testing::DoubleNear;
using testing::Each;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Pointwise;

GoldenTry elewise_try(int64_t type, std::vector<OperandPtr> in, std::vector<OpParam> more = {}) {
  more.push_back(param_of("elewiseType", {type}));
  return {"ElewiseOperation", std::move(more), std::move(in)};
}

std::vector<double> first_output(const GoldenTry& call) {
  const auto out = call.run();
  EXPECT_TRUE(out.has_value()) << (out ? "" : out.error().message);
  return out ? written(out->at(0)) : std::vector<double>();
}

OperandPtr large_integers(std::vector<int64_t> values) {
  std::vector<std::byte> bytes(values.size() * sizeof(int64_t));
  std::memcpy(bytes.data(), values.data(), bytes.size());
  return dense_in_memory(std::move(bytes), TensorMeta{DType::i64, Shape{{std::ssize(values)}}});
}

// ----- one tensor

TEST(ElewiseCast, RoundsTruncatesAndSaysWhatItCannotTell) {
  const auto to = [](int64_t code) { return std::vector{param_of("outTensorType", {code})}; };
  const OperandPtr x = tensor_of(DType::f32, {4}, {1.0004883, -2.75, 0.3, 70000});
  EXPECT_THAT(first_output(elewise_try(1, {x}, to(1))), ElementsAre(1, -2.75, 0.300048828125, HUGE_VAL));
  EXPECT_THAT(first_output(elewise_try(1, {x}, to(27))), ElementsAre(1, -2.75, 0.30078125, 70144));
  EXPECT_THAT(first_output(elewise_try(1, {x}, to(3))), ElementsAre(1, -2, 0, 70000));
  EXPECT_THAT(first_output(elewise_try(1, {x}, to(9))), ElementsAre(1, -2, 0, 70000));
  EXPECT_EQ(elewise_try(1, {x}).run()->at(0).dtype, DType::f16);  // none said: f32 becomes f16,
  EXPECT_EQ(elewise_try(1, {tensor_of(DType::bf16, {1}, {1})}).run()->at(0).dtype,
            DType::f32);  // all else f32
  EXPECT_EQ(elewise_try(1, {x}, {param_of("OutTensorType", {int64_t{3}})}).run()->at(0).dtype, DType::i32);

  const auto beyond =
      elewise_try(1, {tensor_of(DType::f32, {4}, {3e9, std::nan(""), -HUGE_VAL, -5})}, to(3)).run();
  ASSERT_TRUE(beyond.has_value());
  ASSERT_NE(beyond->at(0).known, nullptr);
  EXPECT_THAT(numbers_of(*beyond->at(0).known, 1000)->values, ElementsAre(0, 0, 0, 1));
  EXPECT_THAT(beyond->at(0).note, HasSubstr("does not hold"));
}

TEST(ElewiseCast, KeepsLargeIntegers) {
  const int64_t large = (int64_t{1} << 53) + 1;
  const auto same =
      elewise_try(1, {large_integers({large})}, {param_of("outTensorType", {int64_t{9}})}).run();
  ASSERT_TRUE(same.has_value());
  Scratch scratch;
  int64_t seen = 0;
  std::memcpy(&seen, same->at(0).value->block(0, 1, scratch)->data, sizeof(seen));
  EXPECT_EQ(seen, large);
  const auto narrow =
      elewise_try(1, {large_integers({large, -7})}, {param_of("outTensorType", {int64_t{3}})}).run();
  ASSERT_TRUE(narrow.has_value());
  EXPECT_THAT(numbers_of(*narrow->at(0).known, 1000)->values, ElementsAre(0, 1));
}

TEST(Elewise, ComputesFunctionsOfOneTensor) {
  const OperandPtr x = tensor_of(DType::f64, {3}, {-1, 0, 2});
  EXPECT_THAT(first_output(elewise_try(3, {x})),
              Pointwise(DoubleNear(1e-12), {std::cos(1), 1.0, std::cos(2)}));
  EXPECT_THAT(first_output(elewise_try(4, {x})),
              Pointwise(DoubleNear(1e-12), {-std::sin(1), 0.0, std::sin(2)}));
  EXPECT_THAT(first_output(elewise_try(20, {x})),
              Pointwise(DoubleNear(1e-12), {-0.761594155956, 0.0, 0.964027580076}));
  EXPECT_THAT(first_output(elewise_try(5, {x})), ElementsAre(1, 0, -2));
  EXPECT_THAT(first_output(elewise_try(5, {tensor_of(DType::i8, {2}, {-128, 5})})), ElementsAre(-128, -5));
  EXPECT_THAT(first_output(elewise_try(2, {tensor_of(DType::f16, {2}, {3, -1})},
                                       {param_of("mulsParam.varAttr", {0.3})})),
              ElementsAre(0.89990234375, -0.300048828125));
  EXPECT_THAT(first_output(elewise_try(2, {x}, {param_of("varAttr", {int64_t{2}})})), ElementsAre(-2, 0, 4));
  EXPECT_THAT(first_output(elewise_try(7, {tensor_of(DType::i8, {3}, {0, 1, -3})})), ElementsAre(1, 0, 0));
  EXPECT_TRUE(std::isnan(first_output(elewise_try(3, {tensor_of(DType::f32, {1}, {HUGE_VAL})}))[0]));
}

TEST(Elewise, AFactorMayHaveBeenRounded) {
  const auto allowed = [](double factor) {
    const auto out = elewise_try(2, {tensor_of(DType::f16, {1}, {1})}, {param_of("varAttr", {factor})}).run();
    return allowed_of(out->at(0))[0];
  };
  EXPECT_LT(allowed(0.25), 1e-6);
  EXPECT_NEAR(allowed(0.3), 0.300048828125 - 0.3, 1e-7);
  EXPECT_NEAR(allowed(1e-6), 17 * 0x1p-24 - 1e-6, 1e-10);  // below the normal numbers of f16
  EXPECT_NEAR(allowed(1e6), 1e6 / 2048, 1);                // f16 does not hold it
}

// ----- two tensors

TEST(Elewise, BroadcastsArithmetic) {
  const OperandPtr a = tensor_of(DType::f16, {2, 3}, {1, 2, 3, 4, 5, 6}),
                   row = tensor_of(DType::f16, {3}, {1, 2, 4});
  const OperandPtr column = tensor_of(DType::f16, {2, 1}, {10, 20});
  EXPECT_THAT(first_output(elewise_try(8, {a, row})), ElementsAre(2, 4, 7, 5, 7, 10));
  EXPECT_THAT(first_output(elewise_try(15, {column, row})), ElementsAre(9, 8, 6, 19, 18, 16));
  EXPECT_THAT(first_output(elewise_try(9, {a, column})), ElementsAre(10, 20, 30, 80, 100, 120));
  EXPECT_THAT(first_output(elewise_try(10, {a, row})), ElementsAre(1, 1, 0.75, 4, 2.5, 1.5));
  EXPECT_THAT(error_of(elewise_try(8, {a, tensor_of(DType::f16, {2}, {1, 2})}).run()).message,
              HasSubstr("do not fit"));
}

TEST(Elewise, DividesByZeroAsIeeeDoes) {
  const OperandPtr a = tensor_of(DType::f32, {3}, {1, -1, 0}), zero = tensor_of(DType::f32, {1}, {0});
  const auto y = first_output(elewise_try(10, {a, zero}));
  EXPECT_EQ(y[0], HUGE_VAL);
  EXPECT_EQ(y[1], -HUGE_VAL);
  EXPECT_TRUE(std::isnan(y[2]));
  EXPECT_THAT(allowed_of(elewise_try(10, {a, zero}).run()->at(0)), Each(0));
}

TEST(Elewise, WrapsWholeNumbers) {
  const auto i8 = [](double value) { return tensor_of(DType::i8, {1}, {value}); };
  EXPECT_THAT(first_output(elewise_try(8, {i8(100), i8(100)})), ElementsAre(-56));
  EXPECT_THAT(first_output(elewise_try(9, {i8(20), i8(20)})), ElementsAre(-112));
  EXPECT_THAT(first_output(elewise_try(15, {i8(-100), i8(100)})), ElementsAre(56));
  EXPECT_THAT(error_of(elewise_try(10, {i8(1), i8(1)}).run()).message, HasSubstr("floating point is wanted"));
}

TEST(Elewise, ComparesAsInt8OrAsTheDumpSays) {
  const OperandPtr a = tensor_of(DType::f16, {3}, {1, 2, std::nan("")}),
                   b = tensor_of(DType::f16, {3}, {2, 2, std::nan("")});
  EXPECT_THAT(first_output(elewise_try(13, {a, b})), ElementsAre(1, 0, 0));
  EXPECT_THAT(first_output(elewise_try(14, {b, a})), ElementsAre(1, 0, 0));
  EXPECT_THAT(first_output(elewise_try(16, {a, b})), ElementsAre(0, 1, 0));
  EXPECT_EQ(elewise_try(16, {a, b}).run()->at(0).dtype, DType::i8);
  GoldenTry as_truths = elewise_try(16, {a, b});
  as_truths.out = {TensorMeta{DType::boolean, Shape{{3}}}};
  EXPECT_EQ(as_truths.run()->at(0).dtype, DType::boolean);
  const OperandPtr p = tensor_of(DType::i8, {4}, {0, 0, 3, 1}), q = tensor_of(DType::i8, {4}, {0, 2, 0, 1});
  EXPECT_THAT(first_output(elewise_try(11, {p, q})), ElementsAre(0, 0, 0, 1));
  EXPECT_THAT(first_output(elewise_try(12, {p, q})), ElementsAre(0, 1, 1, 1));
}

TEST(Elewise, ComparesLargeIntegersExactly) {
  const int64_t large = int64_t{1} << 53;
  const OperandPtr a = large_integers({large, large}), b = large_integers({large + 1, large});
  EXPECT_THAT(first_output(elewise_try(16, {a, b})), ElementsAre(0, 1));
  EXPECT_THAT(first_output(elewise_try(13, {a, b})), ElementsAre(1, 0));
}

TEST(Elewise, RefusesWhatDoesNotFit) {
  const OperandPtr x = tensor_of(DType::f16, {2}, {1, 2});
  EXPECT_THAT(error_of(GoldenTry{"ElewiseOperation", {}, {x}}.run()).message,
              HasSubstr("elewiseType is missing"));
  EXPECT_THAT(error_of(elewise_try(21, {x}).run()).message, HasSubstr("elewiseType is 21"));
  EXPECT_THAT(error_of(elewise_try(0, {x}).run()).message, HasSubstr("elewiseType is 0"));
  EXPECT_THAT(error_of(elewise_try(2, {x}).run()).message, HasSubstr("mulsParam.varAttr is missing"));
  EXPECT_THAT(error_of(elewise_try(8, {x}).run()).message, HasSubstr("takes 2 inputs"));
  EXPECT_THAT(error_of(elewise_try(8, {}).run()).message, HasSubstr("takes 2 inputs"));
  EXPECT_THAT(error_of(elewise_try(8, {x, tensor_of(DType::f32, {2}, {1, 2})}).run()).message,
              HasSubstr("are f16 and f32"));
  EXPECT_THAT(error_of(elewise_try(1, {x}, {param_of("outTensorType", {int64_t{2}})}).run()).message,
              HasSubstr("outTensorType is 2"));
  EXPECT_THAT(error_of(elewise_try(3, {tensor_of(DType::i32, {1}, {1})}).run()).message,
              HasSubstr("floating point is wanted"));
}

TEST(Elewise, KeepsEmptyTensorsEmpty) {
  const OperandPtr none = tensor_of(DType::f16, {0, 3}, {});
  for (const int64_t type : {3, 4, 5, 7, 20, 6})
    EXPECT_THAT(first_output(elewise_try(type, {none})), ElementsAre()) << type;
  for (const int64_t type : {8, 9, 10, 11, 12, 13, 14, 15, 16})
    EXPECT_THAT(first_output(elewise_try(type, {none, none})), ElementsAre()) << type;
}

// ----- int8

TEST(ElewiseQuant, RoundsHalfToEvenAndSaturates) {
  const OperandPtr x = tensor_of(DType::f16, {6}, {1.5, -1.5, 2.5, -2.7, 100, 300});
  EXPECT_THAT(first_output(elewise_try(6, {x})), ElementsAre(2, -2, 2, -3, 100, 127));
  EXPECT_THAT(first_output(elewise_try(6, {x},
                                       {param_of("quantParam.inputScale", {2.0}),
                                        param_of("quantParam.inputOffset", {int64_t{-3}})})),
              ElementsAre(0, -6, 2, -8, 127, 127));
  const auto nan = elewise_try(6, {tensor_of(DType::f16, {2}, {std::nan(""), 1})}).run();
  ASSERT_NE(nan->at(0).known, nullptr);
  EXPECT_THAT(numbers_of(*nan->at(0).known, 1000)->values, ElementsAre(0, 1));
}

TEST(ElewiseQuant, HasAScaleForEachChannel) {
  const OperandPtr x = tensor_of(DType::f16, {2, 2}, {1, 3, -2, 400}),
                   scale = tensor_of(DType::f16, {2}, {0.5, 2});
  const OperandPtr offset = tensor_of(DType::i8, {2}, {1, -2}), none = tensor_of(DType::i8, {0}, {});
  EXPECT_THAT(first_output(elewise_try(17, {x, scale, offset})), ElementsAre(3, 0, -3, 127));
  EXPECT_THAT(first_output(elewise_try(17, {x, scale, none})), ElementsAre(2, 2, -4, 127));
  EXPECT_THAT(first_output(elewise_try(17, {x, scale})), ElementsAre(2, 2, -4, 127));
  EXPECT_THAT(error_of(elewise_try(17, {x, tensor_of(DType::f16, {3}, {1, 1, 1})}).run()).message,
              HasSubstr("scale of ElewiseOperation has shape [3]"));
}

// From msit's vectors: (y - offset) · scale in f16.
TEST(ElewiseQuant, GoesBackByChannel) {
  const OperandPtr y =
      tensor_of(DType::i8, {3, 4}, {-127, 10, 33, 46, -99, -64, -43, -99, 96, -116, 103, -93});
  const OperandPtr scale = tensor_of(DType::f16, {4}, {1.0625, 1.41699219, 1.3125, 0.224609375});
  const OperandPtr offset = tensor_of(DType::i8, {4}, {1, -2, 3, 0});
  EXPECT_THAT(first_output(elewise_try(18, {y, scale, offset})),
              ElementsAre(-136, 17, 39.375, 10.328125, -106.25, -87.875, -60.375, -22.234375, 100.9375,
                          -161.5, 131.25, -20.890625));
  const OperandPtr huge = tensor_of(DType::f16, {4}, {60000, 1, 1, 1});
  EXPECT_THAT(first_output(elewise_try(18, {y, huge}))[0], -65504);
  EXPECT_THAT(error_of(elewise_try(18, {scale, scale}).run()).message, HasSubstr("f16 where i8 is wanted"));
}

TEST(ElewiseDynamicQuant, FillsTheRangeOfEachRow) {
  const OperandPtr x = tensor_of(DType::f16, {2, 3}, {1, -4, 2, 0.5, 0.25, 0.5});
  const auto out = elewise_try(19, {x}).run();
  ASSERT_TRUE(out.has_value());
  ASSERT_EQ(out->size(), 2U);
  EXPECT_THAT(written(out->at(0)), ElementsAre(32, -127, 64, 127, 64, 127));  // 31.75, 63.5, 63.5
  EXPECT_EQ(out->at(1).value->meta.shape, (Shape{{2}}));
  EXPECT_THAT(written(out->at(1)), Pointwise(DoubleNear(1e-9), {4 / 127.0, 0.5 / 127.0}));
}

// Row 0 from -4 to 2: scale 6/255, offset 2 / (12/255) = 42.5.
TEST(ElewiseDynamicQuant, MovesEachRowToo) {
  const OperandPtr x = tensor_of(DType::f16, {1, 3}, {1, -4, 2});
  const auto out = elewise_try(19, {x}, {param_of("quantParam.asymmetric", {true})}).run();
  ASSERT_TRUE(out.has_value());
  ASSERT_EQ(out->size(), 3U);
  EXPECT_THAT(written(out->at(0)), ElementsAre(85, -128, 127));  // 42.5 + 42.5; -127.5; 127.5
  EXPECT_THAT(written(out->at(1)), ElementsAre(DoubleNear(6 / 255.0, 1e-8)));
  EXPECT_THAT(written(out->at(2)), ElementsAre(DoubleNear(42.5, 1e-5)));
}

TEST(ElewiseDynamicQuant, LeavesOutWhatNobodyCanTell) {
  const OperandPtr x = tensor_of(DType::f16, {3, 2}, {0, 0, HUGE_VAL, 1, 1, 2});
  const auto out = elewise_try(19, {x}).run();
  ASSERT_TRUE(out.has_value());
  EXPECT_THAT(numbers_of(*out->at(0).known, 1000)->values, ElementsAre(0, 0, 0, 0, 1, 1));
  EXPECT_THAT(numbers_of(*out->at(1).known, 1000)->values, ElementsAre(1, 0, 1));
  EXPECT_EQ(written(out->at(1))[0], 0);
  EXPECT_THAT(error_of(elewise_try(19, {x}, {param_of("outTensorType", {int64_t{36}})}).run()).message,
              HasSubstr("8-bit floats"));
  EXPECT_THAT(error_of(elewise_try(19, {tensor_of(DType::f16, {}, {1})}).run()).message, HasSubstr("scalar"));
}

}  // namespace
}  // namespace assay

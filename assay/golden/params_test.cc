#include "assay/golden/golden_test_tools.h"

namespace assay {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

TEST(GoldenParams, ReadsBySeveralNames) {
  const std::vector<OpParam> list = {param_of("outTensorType", {int64_t{27}})};
  const GoldenParams params(list);
  EXPECT_EQ(params.integer({"outTensorType", "OutTensorType"}).value(), 27);
  EXPECT_EQ(params.integer({"OutTensorType", "outTensorType"}).value(), 27);
  EXPECT_FALSE(params.has({"OutTensorType"}));
}

TEST(GoldenParams, TellsMissingFromWrong) {
  const std::vector<OpParam> list = {param_of("axis", {std::string("last")}), param_of("none", {Value()}),
                                     param_of("several", {int64_t{1}, 2.5})};
  const GoldenParams params(list);
  EXPECT_THAT(params.integer({"dim"}).error().message, HasSubstr("dim is missing"));
  EXPECT_THAT(params.integer({"none"}).error().message, HasSubstr("none is missing"));
  EXPECT_THAT(params.integer({"axis"}).error().message, HasSubstr("axis is not a whole number"));
  EXPECT_THAT(params.integer({"several"}).error().message, HasSubstr("several is not a whole number"));
  EXPECT_THAT(params.integers({"several"}).error().message, HasSubstr("not a list of whole numbers"));
  EXPECT_THAT(params.reals({"several"}).value(), ElementsAre(1, 2.5));
  EXPECT_FALSE(params.integer_or({"axis"}, 3).has_value());
  EXPECT_EQ(params.integer_or({"dim"}, 3).value(), 3);
}

TEST(GoldenParams, TakesZeroAndOneForFlagsAndNothingElse) {
  const std::vector<OpParam> list = {param_of("transposeA", {true}), param_of("transposeB", {int64_t{0}}),
                                     param_of("hasBias", {int64_t{-7}}),
                                     param_of("rstd", {std::string("yes")})};
  const GoldenParams params(list);
  EXPECT_TRUE(params.flag_or({"transposeA"}, false).value());
  EXPECT_TRUE(params.flag({"transposeA"}).value());
  EXPECT_FALSE(params.flag_or({"transposeB"}, true).value());
  EXPECT_TRUE(params.flag_or({"enAccum"}, true).value());
  EXPECT_THAT(params.flag({"enAccum"}).error().message, HasSubstr("enAccum is missing"));
  EXPECT_THAT(params.flag_or({"hasBias"}, true).error().message,
              HasSubstr("hasBias is neither true nor false"));
  EXPECT_THAT(params.flag({"rstd"}).error().message, HasSubstr("rstd is neither true nor false"));
}

TEST(GoldenParams, TakesNoFlagForANumber) {
  const std::vector<OpParam> list = {param_of("elewiseType", {true}), param_of("scale", {true}),
                                     param_of("whole", {2.0}), param_of("half", {0.5})};
  const GoldenParams params(list);
  EXPECT_THAT(params.integer({"elewiseType"}).error().message,
              HasSubstr("elewiseType is not a whole number"));
  EXPECT_THAT(params.real_or({"scale"}, 1).error().message, HasSubstr("scale is not a finite number"));
  EXPECT_EQ(params.integer({"whole"}).value(), 2);
  EXPECT_FALSE(params.integer({"half"}).has_value());
}

TEST(GoldenParams, TakesNoObjectForAValueNorAValueForAnObject) {
  const std::vector<OpParam> list = {param_of("axis.0", {int64_t{1}}), param_of("normParam", {int64_t{5}}),
                                     param_of("mulsParam", {int64_t{5}}), param_of("varAttr", {2.0}),
                                     param_of("postNormParam", {Value()})};
  const GoldenParams params(list);
  EXPECT_THAT(params.integer_or({"axis"}, 0).error().message, HasSubstr("axis is not a whole number"));
  EXPECT_THAT(params.integers({"axis"}).error().message, HasSubstr("axis is not a list of whole numbers"));
  EXPECT_THAT(params.epsilon_or({"normParam.epsilon"}, 1e-5).error().message,
              HasSubstr("normParam.epsilon is not a finite number"));
  EXPECT_THAT(params.flag_or({"normParam.rstd"}, false).error().message, HasSubstr("neither true nor false"));
  EXPECT_EQ(params.real_or({"mulsParam.varAttr", "varAttr"}, 1).value(), 2);
  EXPECT_EQ(params.epsilon_or({"postNormParam.epsilon"}, 1e-5).value(), 1e-5);
  EXPECT_EQ(params.integer_or({"norm"}, 3).value(), 3);
}

TEST(GoldenParams, NamesWhatAChoiceMayBe) {
  const std::vector<OpParam> list = {param_of("layerType", {int64_t{7}})};
  const int64_t allowed[] = {1, 2, 3};
  EXPECT_THAT(GoldenParams(list).choice({"layerType"}, allowed).error().message,
              HasSubstr("layerType is 7, which is none of 1, 2, 3"));
  EXPECT_EQ(GoldenParams(list).choice_or({"quantType"}, 2, allowed).value(), 2);
}

TEST(GoldenParams, TakesNothingForTheDefaultThatIsNoNumber) {
  const std::vector<OpParam> list = {param_of("epsilon", {std::string("NaN")}), param_of("small", {-1e-5}),
                                     param_of("none", {Value{}})};
  const GoldenParams params(list);
  EXPECT_THAT(params.real_or({"epsilon"}, 1e-5).error().message, HasSubstr("epsilon is not a finite number"));
  EXPECT_THAT(params.epsilon_or({"small"}, 1e-5).error().message,
              HasSubstr("small is -1e-05, which is negative"));
  EXPECT_EQ(params.epsilon_or({"none"}, 1e-5).value(), 1e-5);
}

}  // namespace
}  // namespace assay

#include "assay/golden/glibc_random.h"
#include "assay/golden/golden_test_tools.h"

namespace assay {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

std::vector<double> sampled(const GoldenTry& call, size_t output = 0) {
  const auto outputs = call.run();
  EXPECT_TRUE(outputs.has_value()) << (outputs ? "" : outputs.error().message);
  return outputs ? written((*outputs)[output]) : std::vector<double>();
}

// One where an element is known.
std::vector<double> known_of(const GoldenTry& call, size_t output = 0) {
  const auto outputs = call.run();
  if (!outputs || (*outputs)[output].known == nullptr) return {};
  EXPECT_FALSE((*outputs)[output].note.empty());
  return numbers_of(*(*outputs)[output].known, 1 << 20).value().values;
}

// Vectors of the specification, which were drawn by the library itself.
TEST(GlibcRandom, DrawsWhatTheLibraryDraws) {
  for (const uint32_t seed : {0U, 1U}) {
    GlibcRandom random(seed);
    EXPECT_NEAR(random.draw(), 0.84018771715, 1e-10);
    EXPECT_NEAR(random.draw(), 0.39438292682, 1e-10);
    EXPECT_NEAR(random.draw(), 0.78309922376, 1e-10);
    EXPECT_NEAR(random.draw(), 0.79844003348, 1e-10);
  }
  GlibcRandom random(42);
  EXPECT_NEAR(random.draw(), 0.03346994800, 1e-10);
  EXPECT_NEAR(random.draw(), 0.32996420764, 1e-10);
  EXPECT_NEAR(random.draw(), 0.69063570429, 1e-10);
  EXPECT_EQ(GlibcRandom(1).next(), 1804289383U);
}

#ifdef __GLIBC__
TEST(GlibcRandom, AgreesWithThisLibrary) {
  for (const uint32_t seed : {0U, 7U, 123456789U, 0x80000000U, 0xffffffffU}) {
    srand(seed);
    GlibcRandom random(seed);
    for (int i = 0; i < 1000; ++i) ASSERT_EQ(random.next(), static_cast<uint32_t>(rand())) << seed;
  }
}
#endif

// The fixture multinomial.
TEST(GoldenMultinomial, FindsTheClassOfEachDraw) {
  GoldenTry call{"MultinomialOperation",
                 {param_of("numSamples", {int64_t{3}}), param_of("randSeed", {int64_t{1}})},
                 {tensor_of(DType::f16, {3, 6},
                            {0.090576171875, 0.215576171875, 0.129638671875, 0.33154296875, 0.067626953125,
                             0.1651611328125, 0.050323486328125, 0.06396484375, 0.1500244140625,
                             0.1021728515625, 0.45556640625, 0.177978515625, 0.10113525390625, 0.06103515625,
                             0.271728515625, 0.445068359375, 0.05035400390625, 0.070556640625})}};
  EXPECT_THAT(sampled(call), ElementsAre(5, 2, 4, 5, 4, 4, 3, 2, 3));
  EXPECT_EQ(call.run().value()[0].dtype, DType::i32);
  EXPECT_THAT(known_of(call), IsEmpty());
  call.params[1] = param_of("randSeed", {int64_t{0xffffffff}});
  EXPECT_THAT(known_of(call), ElementsAre(0, 0, 0, 0, 0, 0, 0, 0, 0));
  call.params[1] = param_of("randSeed", {int64_t{-1}});
  EXPECT_THAT(error_of(call.run()).message, HasSubstr("no seed"));
  call.params[0] = param_of("numSamples", {int64_t{65}});
  EXPECT_EQ(error_of(call.run()).kind, ErrorKind::bad_argument);
}

TEST(GoldenMultinomial, TakesTheFirstClassWhereSumsFallShort) {
  GoldenTry call{"MultinomialOperation",
                 {param_of("numSamples", {int64_t{1}}), param_of("randSeed", {int64_t{1}})},
                 {tensor_of(DType::f16, {2, 2}, {0.25, 0.25, NAN, 1})}};
  EXPECT_THAT(sampled(call), ElementsAre(0, 0));
  call.in[0] = tensor_of(DType::f16, {0, 2}, {});
  EXPECT_THAT(sampled(call), IsEmpty());
}

// A term of half a step is lost each time: sums are rounded one by one.
TEST(GoldenMultinomial, RoundsSumsOneByOne) {
  std::vector<double> values(1026, 0x1p-12);
  values[0] = 0.75;  // + 2^-12: half of the distance to the next number, so it stays
  const GoldenTry call{"MultinomialOperation",
                       {param_of("numSamples", {int64_t{1}}), param_of("randSeed", {int64_t{1}})},
                       {tensor_of(DType::f16, {1, 1026}, values)}};
  EXPECT_THAT(sampled(call), ElementsAre(0));  // exact sums pass 0.84 at the 370th
}

// The fixture topk_single.
TEST(GoldenTopkTopp, DrawsFromOneSeed) {
  GoldenTry call{"TopkToppSamplingOperation",
                 {param_of("topkToppSamplingType", {int64_t{0}}), param_of("randSeed", {int64_t{1}}),
                  param_of("topk", {int64_t{5}}), param_of("randSeeds", {})},
                 {tensor_of(DType::f16, {3, 8},
                            {0.033233642578125,  0.0179290771484375, 0.05670166015625,     0.26025390625,
                             0.1331787109375,    0.3056640625,       0.1087646484375,      0.084228515625,
                             0.1817626953125,    0.219970703125,     0.09710693359375,     0.08587646484375,
                             0.0157318115234375, 0.02880859375,      0.2012939453125,      0.16943359375,
                             0.560546875,        0.03302001953125,   0.2349853515625,      0.038330078125,
                             0.06085205078125,   0.05169677734375,   0.004726409912109375, 0.01593017578125}),
                  tensor_of(DType::f16, {3, 1}, {0.89990234375, 0.60009765625, 0.7998046875})}};
  EXPECT_THAT(sampled(call), ElementsAre(6, 1, 2));
  EXPECT_THAT(sampled(call, 1), ElementsAre(0.1087646484375, 0.219970703125, 0.2349853515625));
  EXPECT_THAT(known_of(call), IsEmpty());
  EXPECT_EQ(call.run().value()[1].dtype, DType::f16);
  call.params[2] = param_of("topk", {int64_t{9}});
  EXPECT_THAT(error_of(call.run()).message, HasSubstr("not between 1 and 8"));
  call.params[0] = param_of("topkToppSamplingType", {int64_t{5}});
  EXPECT_EQ(error_of(call.run()).kind, ErrorKind::bad_argument);
  call.params[0] = param_of("none", {int64_t{0}});
  EXPECT_THAT(error_of(call.run()).message, HasSubstr("topkToppSamplingType is missing"));
  call.params[0] = param_of("tokkToppSamplingType", {int64_t{0}});  // as other tools spell it
  call.params[1] = param_of("randSeed", {int64_t{0xffffffff}});
  call.params[2] = param_of("topk", {int64_t{5}});
  EXPECT_THAT(known_of(call), ElementsAre(0, 0, 0));
}

GoldenTry of_four_words(int64_t type, double top_p) {
  GoldenTry call{"TopkToppSamplingOperation",
                 {param_of("topkToppSamplingType", {type}), param_of("randSeeds", {int64_t{1}}),
                  param_of("logProbsSize", {int64_t{3}})},
                 {tensor_of(DType::f32, {1, 4}, {0.125, 0.5, 0.25, 0.125}),
                  tensor_of(DType::i32, {1, 1}, {1}), tensor_of(DType::f32, {1, 1}, {top_p})}};
  if (type == 2 || type == 4) call.in.push_back(tensor_of(DType::f32, {1, 4}, {1, 0.25, 1, 1}));
  if (type == 3) call.in.push_back(tensor_of(DType::f32, {1, 1}, {0.9}));
  return call;
}

// Sorted 0.5, 0.25, and nothing of the rest: sums 0.5, 0.75, 0.75, 0.75. The draw is 0.84.
TEST(GoldenTopkTopp, DrawsFromASeedPerRow) {
  EXPECT_THAT(sampled(of_four_words(1, 0.9)), ElementsAre(2));  // 0.84 · 0.75 = 0.63
  EXPECT_THAT(sampled(of_four_words(1, 0.9), 1), ElementsAre(0.25));
  EXPECT_THAT(sampled(of_four_words(1, 0.6)), ElementsAre(1));  // 0.84 · 0.5 = 0.42
  GoldenTry call = of_four_words(1, 0.9);
  call.in[1] = tensor_of(DType::i32, {1, 1}, {4});
  EXPECT_THAT(error_of(call.run()).message, HasSubstr("top 4 of 4 words"));
  call.in[2] = tensor_of(DType::f32, {2, 1}, {1, 1});
  EXPECT_FALSE(call.run().has_value());
  call.in[0] = tensor_of(DType::f32, {4}, {1, 0, 0, 0});
  EXPECT_THAT(error_of(call.run()).message, HasSubstr("has not 2 dimensions"));
}

TEST(GoldenTopkTopp, TakesTheLargestQuotient) {
  EXPECT_THAT(sampled(of_four_words(2, 0.9)), ElementsAre(2));  // 0.5 and 1
  EXPECT_THAT(sampled(of_four_words(2, 0.6)), ElementsAre(1));  // 0.5 and nothing
  EXPECT_THAT(sampled(of_four_words(2, 0.3)), ElementsAre(1));  // nothing at all: the first
  EXPECT_THAT(known_of(of_four_words(2, 0.9)), IsEmpty());
  EXPECT_THAT(known_of(of_four_words(2, 0.75)), ElementsAre(0));  // is 0.75 beyond 0.75?
  GoldenTry call = of_four_words(2, 0.9);
  call.in[3] = tensor_of(DType::f32, {1, 4}, {1, 0.5, 1, 1});  // both 0.5: a rounding decides
  EXPECT_THAT(known_of(call), ElementsAre(0));
  call.in[3] = tensor_of(DType::f32, {1, 3}, {1, 0.5, 1});
  EXPECT_THAT(error_of(call.run()).message, HasSubstr("not [1, 4]"));
}

TEST(GoldenTopkTopp, GivesLogarithms) {
  const auto near = [](double x) { return testing::DoubleNear(x, 1e-6); };
  EXPECT_THAT(sampled(of_four_words(3, 0.9)), ElementsAre(2));
  EXPECT_THAT(sampled(of_four_words(3, 0.9), 2),
              ElementsAre(near(std::log(2 / 3.0)), near(std::log(1 / 3.0)), near(std::log(1 / 6.0))));
  EXPECT_THAT(sampled(of_four_words(3, 0.6), 2), ElementsAre(0, -9999, -9999));
  EXPECT_THAT(sampled(of_four_words(4, 0.9), 2),
              ElementsAre(near(std::log(2 / 3.0)), near(std::log(1 / 3.0)), -9999));
  EXPECT_EQ(of_four_words(4, 0.9).run().value()[2].dtype, DType::f32);
  GoldenTry call = of_four_words(3, 0.9);
  call.in[3] = tensor_of(DType::f32, {1, 1}, {2 / 3.0});  // 0.75 of it is 0.5, the first sum
  EXPECT_THAT(known_of(call), ElementsAre(0));
  call.params[2] = param_of("logProbsSize", {int64_t{5}});
  EXPECT_EQ(error_of(call.run()).kind, ErrorKind::bad_argument);
}

TEST(GoldenTopkTopp, KnowsNothingOfNan) {
  GoldenTry call = of_four_words(1, 0.9);
  call.in[0] = tensor_of(DType::f32, {1, 4}, {0.125, NAN, 0.25, 0.125});
  EXPECT_THAT(known_of(call), ElementsAre(0));
}

}  // namespace
}  // namespace assay

#include "assay/golden/golden_test_tools.h"

namespace assay {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

std::vector<OpParam> parallel_params(int64_t type, int64_t ranks, int64_t quant = -1) {
  return {param_of("backend", {std::string("lcoc")}),
          param_of("rank", {int64_t{0}}),
          param_of("rankRoot", {int64_t{0}}),
          param_of("rankSize", {ranks}),
          param_of("type", {type}),
          param_of("transWeight", {true}),
          param_of("quantType", {quant}),
          param_of("hasResidual", {false}),
          param_of("keepIntermediate", {false})};
}

// Rank 0 has x = ‖1 2‖ ‖3 4‖ and w = ‖1 1‖; rank 1 has ten times x.
GoldenTry two_ranks(int64_t type) {
  GoldenTry run{"LinearParallelOperation",
                parallel_params(type, 2),
                {tensor_of(DType::f16, {2, 2}, {1, 2, 3, 4}), tensor_of(DType::f16, {1, 2}, {1, 1})}};
  run.in_of_rank = [weight = run.in[1]](int) -> Result<std::vector<OperandPtr>> {
    return std::vector<OperandPtr>{tensor_of(DType::f16, {2, 2}, {10, 20, 30, 40}), weight};
  };
  return run;
}

TEST(GoldenLinearParallel, SumsOverRanks) {
  const auto out = two_ranks(0).run();
  ASSERT_TRUE(out.has_value()) << out.error().message;
  EXPECT_THAT(written((*out)[0]), ElementsAre(33, 77));
  GoldenTry run = two_ranks(0);
  run.params[7] = param_of("hasResidual", {true});
  run.in.push_back(tensor_of(DType::f16, {2, 1}, {0.5, 1}));
  run.in_of_rank = [in = run.in](int) -> Result<std::vector<OperandPtr>> { return in; };
  EXPECT_THAT(written(run.run().value()[0]), ElementsAre(6.5, 15));
}

TEST(GoldenLinearParallel, SharesOutRows) {
  const auto out = two_ranks(1).run();
  EXPECT_EQ(out.value()[0].value->meta.shape, (Shape{{1, 1}}));
  EXPECT_THAT(written(out.value()[0]), ElementsAre(33));
  GoldenTry run = two_ranks(1);
  run.params[1] = param_of("rank", {int64_t{1}});
  run.in_of_rank = [in = run.in](int) -> Result<std::vector<OperandPtr>> { return in; };
  EXPECT_THAT(written(run.run().value()[0]), ElementsAre(14));
  run.in[0] = tensor_of(DType::f16, {3, 2}, {1, 2, 3, 4, 5, 6});
  EXPECT_THAT(error_of(run.run()).message, HasSubstr("3 rows cannot be shared out over 2"));
}

TEST(GoldenLinearParallel, GathersRows) {
  GoldenTry run = two_ranks(2);
  run.params[8] = param_of("keepIntermediate", {true});
  const auto out = run.run();
  ASSERT_EQ(out.value().size(), 2u);
  EXPECT_THAT(written(out.value()[0]), ElementsAre(3, 7, 30, 70));
  EXPECT_THAT(written(out.value()[1]), ElementsAre(1, 2, 3, 4, 10, 20, 30, 40));
}

TEST(GoldenLinearParallel, NeedsEveryRank) {
  GoldenTry run = two_ranks(0);
  run.in_of_rank = {};
  EXPECT_EQ(error_of(run.run()).kind, ErrorKind::not_found);
  run.params = parallel_params(3, 2);
  EXPECT_THAT(written(run.run().value()[0]), ElementsAre(3, 7));  // alone
  run = two_ranks(0);
  run.in_of_rank = [](int) -> Result<std::vector<OperandPtr>> {
    return std::vector<OperandPtr>{tensor_of(DType::f16, {1, 2}, {1, 2}),
                                   tensor_of(DType::f16, {1, 2}, {1, 1})};
  };
  EXPECT_THAT(error_of(run.run()).message, HasSubstr("rank 1 has 1 x 1"));
}

TEST(GoldenLinearParallel, DequantisesWeights) {
  // w = (‖2 4‖ + 1) * 0.5 = ‖1.5 2.5‖
  GoldenTry run{"LinearParallelOperation",
                parallel_params(3, 1, 0),
                {tensor_of(DType::f16, {1, 2}, {2, 4}), tensor_of(DType::i8, {1, 2}, {2, 4}),
                 tensor_of(DType::f16, {1}, {1}), tensor_of(DType::f16, {1}, {0.5})}};
  EXPECT_THAT(written(run.run().value()[0]), ElementsAre(13));
  // Groups of one row of the transposed weight: ‖3 * 1, 5 * 10‖.
  run.params = parallel_params(3, 1, 2);
  run.params.push_back(param_of("quantGroupSize", {int64_t{1}}));
  run.in[3] = tensor_of(DType::f16, {2, 1}, {1, 10});
  EXPECT_THAT(written(run.run().value()[0]), ElementsAre(206));
  run.in[3] = tensor_of(DType::f16, {3}, {1, 10, 1});
  EXPECT_THAT(error_of(run.run()).message, HasSubstr("3 scales"));
}

TEST(GoldenLinearParallel, ScalesSumsOfInt8) {
  GoldenTry run{"LinearParallelOperation",
                parallel_params(3, 1, 3),
                {tensor_of(DType::i8, {2, 2}, {1, 2, 3, 4}), tensor_of(DType::i8, {1, 2}, {100, 100}),
                 tensor_of(DType::i32, {1}, {50}), tensor_of(DType::f32, {1}, {0.5}),
                 tensor_of(DType::f32, {2}, {1, 2})}};
  run.params.push_back(param_of("outDataType", {int64_t{27}}));
  const auto out = run.run();
  ASSERT_TRUE(out.has_value()) << out.error().message;
  EXPECT_EQ((*out)[0].dtype, DType::bf16);
  EXPECT_THAT(written((*out)[0]), ElementsAre(175, 750 + 2));  // 750 is no bf16
}

TEST(GoldenLinearParallel, RefusesWhatIsNotComputed) {
  GoldenTry run = two_ranks(4);
  EXPECT_EQ(error_of(run.run()).kind, ErrorKind::unsupported);
  run = two_ranks(0);
  run.params[3] = param_of("rankSize", {int64_t{0}});
  EXPECT_EQ(error_of(run.run()).kind, ErrorKind::bad_argument);
  run.params.erase(run.params.begin());
  EXPECT_THAT(error_of(run.run()).message, HasSubstr("backend is missing"));
  run = two_ranks(0);
  run.soc = Soc::ascend_310p;
  EXPECT_EQ(error_of(run.run()).kind, ErrorKind::unsupported);
}

}  // namespace
}  // namespace assay

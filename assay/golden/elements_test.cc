#include "assay/golden/elements.h"

#include "assay/golden/families.h"
#include "assay/golden/golden_test_tools.h"
#include "assay/golden/sums.h"

namespace assay {
namespace {

using testing::ElementsAre;

TEST(GoldenElements, PatchesRunsInOrder) {
  const OperandPtr base = tensor_of(DType::i32, {8}, {0, 0, 0, 0, 0, 0, 0, 0});
  const OperandPtr values = tensor_of(DType::i32, {5}, {1, 2, 3, 4, 5});
  // The second and the third overlap; the last one is empty.
  const OperandPtr out = patched(base, values, {{5, 0, 2}, {1, 1, 3}, {2, 4, 1}, {8, 0, 0}});
  EXPECT_THAT(numbers_of(*out, 1 << 20).value().values, ElementsAre(0, 2, 5, 4, 0, 1, 2, 0));
  Scratch scratch;  // blocks that begin and end inside a patch, and one without any
  std::vector<std::byte> bytes(2 * 4);
  for (const auto& [first, a, b] : {std::tuple{2, 5, 4}, std::tuple{3, 4, 0}, std::tuple{0, 0, 2}}) {
    ASSERT_TRUE(out->read(first, 2, bytes, scratch).has_value());
    double wide[2];
    to_f64(DType::i32, bytes.data(), 2, wide);
    EXPECT_THAT(wide, ElementsAre(a, b));
  }
}

TEST(GoldenElements, WrapsWholeNumbers) {
  EXPECT_EQ(wrapped(DType::i8, 200), -56);
  EXPECT_EQ(wrapped(DType::u8, -1), 255);
  EXPECT_EQ(wrapped(DType::i32, int64_t{1} << 31), -(int64_t{1} << 31));
  EXPECT_EQ(wrapped(DType::i64, -5), -5);
  EXPECT_EQ(wrapped(DType::boolean, 4), 1);
}

TEST(GoldenElements, RefusesWhatDoesNotFitMemory) {
  GoldenCall call;
  call.type = "Test";
  call.memory = 100;
  call.in = {tensor_of(DType::f16, {64}, std::vector<double>(64, 1.0))};
  EXPECT_EQ(elements_of(call, 0).error().kind, ErrorKind::limit);
  EXPECT_EQ(zero_elements(call, DType::f16, Shape{{64}}).error().kind, ErrorKind::limit);
  EXPECT_EQ(zero_elements(call, DType::f16, Shape{{int64_t{1} << 62, 8}}).error().kind, ErrorKind::mismatch);
  EXPECT_EQ(constant(DType::f16, 2.5, Shape{{1 << 20, 1 << 20}}).value()->meta.shape.count(),
            int64_t{1} << 40);
}

// Whatever is missing: an error.
TEST(GoldenElements, MissesInputsAndParameters) {
  const std::vector<OpParam> params = {
      param_of("axis", {int64_t{0}}),     param_of("axes", {int64_t{0}}),
      param_of("num", {int64_t{1}}),      param_of("perm", {int64_t{0}}),
      param_of("rank", {int64_t{0}}),     param_of("rankSize", {int64_t{1}}),
      param_of("rankRoot", {int64_t{0}}), param_of("concatDim", {int64_t{0}})};
  for (const GoldenFamily family :
       {golden_moves(), golden_indexings(), golden_reductions(), golden_samplings(), golden_collectives()})
    for (const GoldenOp& op : family)
      for (size_t count = 0; count < 9 && op.no_output.empty(); ++count) {
        GoldenCall call;
        call.type = op.type;
        call.in.assign(count, nullptr);
        EXPECT_FALSE(op.compute(call).has_value()) << op.type;
        call.params = GoldenParams(params);
        EXPECT_FALSE(op.compute(call).has_value()) << op.type;
      }
}

TEST(GoldenSums, CountsRoundingsOfPartialSums) {
  SumError sum;
  EXPECT_EQ(sum.error(0.5), 0);
  sum.add(0);
  sum.add(3);
  EXPECT_EQ(sum.error(0.5), 0);  // nothing was rounded yet
  sum.add(-3);                   // the sum is 0, but in another order it need not have been
  EXPECT_NEAR(sum.error(1), 4 * std::sqrt(18), 1e-12);
  EXPECT_EQ(sum.sum(), 0);
  SumError equal;  // 0.1 ten thousand times: rounded up for most of the way
  float narrow = 0;
  for (int i = 0; i < 10000; ++i) {
    equal.add(static_cast<double>(0.1F));
    narrow += 0.1F;
  }
  EXPECT_LT(std::abs(static_cast<double>(narrow) - equal.sum()), equal.error(0x1p-24));
  EXPECT_EQ(as_allowed(INFINITY), 0);
  EXPECT_EQ(as_allowed(1e300), 0x1.fffffep127F);
}

}  // namespace
}  // namespace assay

#include "assay/golden/golden_test_tools.h"

#include <atomic>

namespace assay {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

TEST(GoldenNumbers, RoundsHalfToEven) {
  EXPECT_EQ(round_half_even(0.5), 0);
  EXPECT_EQ(round_half_even(1.5), 2);
  EXPECT_EQ(round_half_even(-2.5), -2);
  EXPECT_EQ(round_half_even(-2.6), -3);
  EXPECT_EQ(rounded_to(DType::f16, 1 + 1.0 / 2048), 1);
  EXPECT_EQ(rounded_to(DType::bf16, 1 + 3.0 / 256), 1 + 2.0 / 128);
  EXPECT_EQ(unit_roundoff(DType::f16), 1.0 / 2048);
  EXPECT_EQ(unit_roundoff(DType::i8), 0);
}

TEST(GoldenNumbers, BroadcastsAsTorchDoes) {
  const Numbers column{Shape{{2, 1}}, {1, 2}};
  const auto wide = broadcast(column, Shape{{3, 2, 2}});
  ASSERT_TRUE(wide.has_value());
  EXPECT_THAT(wide->values, ElementsAre(1, 1, 2, 2, 1, 1, 2, 2, 1, 1, 2, 2));
  EXPECT_THAT(broadcast(column, Shape{{3, 2}}).error().message, HasSubstr("do not fit"));
  EXPECT_THAT(broadcast(Numbers{Shape{{3}}, {1, 2, 3}}, Shape{{1}}).error().message,
              HasSubstr("does not fit"));
}

TEST(GoldenNumbers, KeepsLargeIntegersWhole) {
  const int64_t large = (int64_t{1} << 53) + 1;
  std::vector<std::byte> bytes(sizeof(large));
  std::memcpy(bytes.data(), &large, sizeof(large));
  GoldenCall call;
  call.type = "Test";
  call.in = {dense_in_memory(std::move(bytes), TensorMeta{DType::i64, Shape{{1}}}),
             tensor_of(DType::boolean, {2}, {1, 0}), tensor_of(DType::f32, {1}, {1})};
  EXPECT_THAT(integers_of(call, 0).value().values, ElementsAre(large));
  EXPECT_THAT(integers_of(call, 1).value().values, ElementsAre(1, 0));
  EXPECT_THAT(integers_of(call, 2).error().message, HasSubstr("whole numbers are wanted"));
  EXPECT_THAT(integers_of(call, 3).error().message, HasSubstr("no input 3"));
}

TEST(GoldenNumbers, BoundsMemory) {
  GoldenCall call;
  call.type = "Test";
  call.memory = 100;
  call.in = {tensor_of(DType::f16, {64}, std::vector<double>(64, 1.0))};
  EXPECT_EQ(numbers_of(call, 0).error().kind, ErrorKind::limit);
}

TEST(GoldenNumbers, SharesOutEveryItemOnce) {
  std::vector<std::atomic<int>> seen(10000);
  in_parallel(10000, 1000, [&](int64_t first, int64_t last) {
    for (int64_t i = first; i < last; ++i) ++seen[static_cast<size_t>(i)];
  });
  for (const auto& each : seen) EXPECT_EQ(each, 1);
}

}  // namespace
}  // namespace assay

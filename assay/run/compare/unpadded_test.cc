#include "assay/run/compare/unpadded.h"

#include "assay/tensor/dense.h"

#include <gmock/gmock.h>

namespace assay {
namespace {

OperandPtr tensor(const std::vector<float>& values, Shape shape) {
  const auto bytes = std::as_bytes(std::span(values));
  return dense_in_memory({bytes.begin(), bytes.end()}, {DType::f32, std::move(shape)});
}

std::vector<float> unpadded_values(const Operand& operand) {
  const auto bytes = *read_whole(operand, operand.meta.byte_size());
  std::vector<float> values(bytes.size() / sizeof(float));
  std::copy(bytes.begin(), bytes.end(), std::as_writable_bytes(std::span(values)).begin());
  return values;
}

TEST(Unpadded, LeavesWhatIsBeforeTheZeros) {
  const OperandPtr rows = tensor({1, 2, 3, 4, 0, 0}, Shape{{3, 2}});
  EXPECT_THAT(unpadded_values(**unpadded(rows, Shape{{2, 2}})), ::testing::ElementsAre(1, 2, 3, 4));
  const OperandPtr columns = tensor({1, 2, 0, 3, 4, -0.0F}, Shape{{2, 3}});
  EXPECT_THAT(unpadded_values(**unpadded(columns, Shape{{2, 2}})), ::testing::ElementsAre(1, 2, 3, 4));
}

TEST(Unpadded, AnythingElseIsNoPadding) {
  for (const float value : {1e-40F, -1.0F, std::numeric_limits<float>::quiet_NaN()}) {
    const auto left = unpadded(tensor({1, 2, 3, 4, 0, value}, Shape{{3, 2}}), Shape{{2, 2}});
    ASSERT_FALSE(left);
    EXPECT_EQ(left.error().kind, ErrorKind::mismatch);
  }
  EXPECT_FALSE(unpadded(tensor({1, 2}, Shape{{2}}), Shape{{3}}));
  EXPECT_FALSE(unpadded(tensor({1, 2}, Shape{{2}}), Shape{{2, 1}}));
}

}  // namespace
}  // namespace assay

#include "assay/run/compare/expert_rows.h"

#include "assay/tensor/dense.h"

#include <gmock/gmock.h>

#include <cstring>

namespace assay {
namespace {

using ::testing::ElementsAre;

OperandPtr table_of(const std::vector<float>& values, int64_t width = 1) {
  const auto bytes = std::as_bytes(std::span(values));
  return dense_in_memory({bytes.begin(), bytes.end()},
                         {DType::f32, Shape{{std::ssize(values) / width, width}}});
}

std::vector<float> values_made(const Result<OperandPtr>& made) {
  EXPECT_TRUE(made);
  const auto bytes = read_whole(**made, 1 << 20).value();
  std::vector<float> values(bytes.size() / sizeof(float));
  std::memcpy(values.data(), bytes.data(), bytes.size());
  return values;
}

// Tokens 10, 11, 12; the first expert was given 11 and then 10, the second nothing, the third 12.
TEST(RowsOfExperts, AreInTheOrderOfTokens) {
  const OperandPtr inputs[] = {table_of({11, 10}), table_of({}), table_of({12})};
  const OperandPtr outputs[] = {table_of({1.1F, -1.1F, 1.0F, -1.0F}, 2), table_of({}, 2),
                                table_of({1.2F, -1.2F}, 2)};
  EXPECT_THAT(values_made(rows_of_experts(outputs, inputs, table_of({10, 11, 12}))),
              ElementsAre(1.0F, -1.0F, 1.1F, -1.1F, 1.2F, -1.2F));
}

TEST(RowsOfExperts, StayAsTheyAreWhereNothingTells) {
  const OperandPtr inputs[] = {table_of({11, 10})};
  const OperandPtr outputs[] = {table_of({1, 2})};
  EXPECT_THAT(values_made(rows_of_experts(outputs, {}, nullptr)), ElementsAre(1, 2));
  EXPECT_THAT(values_made(rows_of_experts(outputs, inputs, table_of({11, 12}))), ElementsAre(1, 2));
}

}  // namespace
}  // namespace assay

#include "assay/tensor/cast.h"

#include "assay/tensor/dense.h"

#include <gmock/gmock.h>

#include <complex>
#include <limits>

namespace assay {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

template <class T>
OperandPtr tensor(DType dtype, const std::vector<T>& values) {
  const auto bytes = std::as_bytes(std::span(values));
  return dense_in_memory({bytes.begin(), bytes.end()}, {dtype, Shape{{std::ssize(values)}}});
}

template <class T>
std::vector<T> values_of(const Result<OperandPtr>& operand) {
  const auto bytes = read_whole(**operand, 1 << 24).value();
  std::vector<T> values(bytes.size() / sizeof(T));
  std::memcpy(values.data(), bytes.data(), bytes.size());
  return values;
}

TEST(Cast, ToItselfIsTheSameTensor) {
  const auto source = tensor<float>(DType::f32, {1, 2});
  EXPECT_EQ(cast(source, DType::f32).value(), source);
}

TEST(Cast, RealsRoundAndIntegersTruncate) {
  const auto source = tensor<float>(DType::f32, {1.5f, -2.9f, 70000.0f});
  EXPECT_THAT(values_of<int16_t>(cast(source, DType::i16)), ElementsAre(1, -2, 32767));
  EXPECT_THAT(values_of<uint16_t>(cast(source, DType::f16)), ElementsAre(0x3E00, 0xC1CD, 0x7C00));
  EXPECT_THAT(values_of<double>(cast(source, DType::f64)),
              ElementsAre(1.5, static_cast<double>(-2.9f), 70000.0));
  EXPECT_EQ(cast(source, DType::i16).value()->meta, (TensorMeta{DType::i16, Shape{{3}}}));
}

TEST(Cast, WordsKeepAllTheirDigits) {
  constexpr auto kMax = std::numeric_limits<int64_t>::max();
  const auto naturals = tensor<uint64_t>(DType::u64, {0, 9007199254740993u, ~uint64_t{0}});
  EXPECT_THAT(values_of<int64_t>(cast(naturals, DType::i64)), ElementsAre(0, 9007199254740993, kMax));
  const auto integers = tensor<int64_t>(DType::i64, {-1, kMax});
  EXPECT_THAT(values_of<uint64_t>(cast(integers, DType::u64)), ElementsAre(0u, static_cast<uint64_t>(kMax)));
}

// 2^60 + 2^36 is half way between two f32; one more is above it, but f64 cannot tell the two apart.
TEST(Cast, WordsRoundOnce) {
  const int64_t tie = (int64_t{1} << 60) + (int64_t{1} << 36);
  const auto source = tensor<int64_t>(DType::i64, {tie, tie + 1, -tie - 1, tie - 1});
  EXPECT_THAT(values_of<float>(cast(source, DType::f32)),
              ElementsAre(0x1p60f, 0x1.000002p60f, -0x1.000002p60f, 0x1p60f));
  const auto natural = tensor<uint64_t>(DType::u64, {(uint64_t{1} << 63) + (uint64_t{1} << 39) + 1});
  EXPECT_THAT(values_of<float>(cast(natural, DType::f32)), ElementsAre(0x1.000002p63f));
}

TEST(Cast, LongTensorsAreConvertedPieceByPiece) {
  std::vector<uint16_t> halves(5000);
  for (size_t i = 0; i < halves.size(); ++i) halves[i] = f32_to_f16(static_cast<float>(i % 2048));
  const auto source = tensor(DType::f16, halves);
  const auto wide = values_of<float>(cast(source, DType::f32));
  const auto bytes = values_of<uint8_t>(cast(source, DType::u8));
  for (size_t i = 0; i < halves.size(); ++i) {
    ASSERT_EQ(wide[i], static_cast<float>(i % 2048));
    ASSERT_EQ(bytes[i], std::min<size_t>(i % 2048, 255));
  }
}

TEST(Cast, RealToComplexAddsZeros) {
  std::vector<float> reals(3000, 2.0f);
  reals[2999] = -1.0f;
  const auto pairs = values_of<std::complex<double>>(cast(tensor(DType::f32, reals), DType::c128));
  ASSERT_EQ(pairs.size(), reals.size());
  EXPECT_EQ(pairs[0], std::complex<double>(2, 0));
  EXPECT_EQ(pairs[2999], std::complex<double>(-1, 0));
}

TEST(Cast, ComplexToComplexButNotToReal) {
  const auto source = tensor<std::complex<double>>(DType::c128, {{1.5, -2.5}});
  EXPECT_THAT(values_of<std::complex<float>>(cast(source, DType::c64)),
              ElementsAre(std::complex<float>(1.5f, -2.5f)));
  const auto refused = cast(source, DType::f64);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().kind, ErrorKind::unsupported);
  EXPECT_THAT(refused.error().message, HasSubstr("c128 cannot become f64"));
}

}  // namespace
}  // namespace assay

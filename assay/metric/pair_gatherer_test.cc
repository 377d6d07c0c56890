#include "assay/metric/pair_gatherer.h"
#include "assay/metric/metric.h"
#include "assay/metric/metric_test_tools.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <random>

namespace assay {
namespace {

using testing::gather_all, testing::kEverything, testing::kInf, testing::kNan, testing::narrowed,
    testing::tensor, testing::widened;

// Every metric by its formula, in long double, one loop.
struct Reference {
  long double aa = 0, bb = 0, ab = 0, dd = 0, d = 0, ad = 0, sa = 0, sb = 0, r = 0;
  double max_abs = -1, r_max = 0, r_max_over_zero = 0;
  int64_t worst = -1, equal = 0, finite = 0, mismatch = 0, under_1e3 = 0, under_5e3 = 0, first_mismatch = -1;
  double min_a = kInf, max_a = -kInf;

  Reference(const std::vector<double>& a, const std::vector<double>& b) {
    for (size_t i = 0; i < a.size(); ++i) {
      const long double x = a[i], y = b[i];
      if (!std::isfinite(a[i]) || !std::isfinite(b[i])) {
        const bool same = a[i] == b[i] || (std::isnan(a[i]) && std::isnan(b[i]));
        equal += same;
        mismatch += !same;
        if (!same && first_mismatch < 0) first_mismatch = static_cast<int64_t>(i);
        continue;
      }
      ++finite;
      const long double diff = x - y;
      const double size = static_cast<double>(std::abs(diff));
      aa += x * x, bb += y * y, ab += x * y, dd += diff * diff, d += diff, ad += std::abs(diff), sa += x,
          sb += y;
      equal += diff == 0;
      min_a = std::min(min_a, a[i]), max_a = std::max(max_a, a[i]);
      if (size > max_abs && size > 0) worst = static_cast<int64_t>(i);
      max_abs = std::max(max_abs, size);
      const double relative =
          y == 0 ? (diff == 0 ? 0 : size / 0x1p-52) : static_cast<double>(std::abs(diff / y));
      r_max_over_zero = std::max(r_max_over_zero, relative);
      under_1e3 += relative < 0.001, under_5e3 += relative < 0.005;
      if (y != 0) r += relative, r_max = std::max(r_max, relative);
    }
    if (first_mismatch >= 0) worst = first_mismatch;
  }
};

void expect_close(double got, long double wanted, double relative, const char* what) {
  const double w = static_cast<double>(wanted);
  if (std::isinf(w) || std::isnan(w)) return;
  EXPECT_NEAR(got, w, std::abs(w) * relative + 1e-300) << what;
}

// `scale` of a sum with cancellation is what its terms add up to in size.
void expect_like_reference(const Operand& mine, const Operand& golden, double quotient_tolerance) {
  const std::vector<double> a = widened(mine), b = widened(golden);
  const Reference r(a, b);
  const Gathered g = gather_all(mine, golden);
  const PairSums& p = g.pair;
  constexpr double kTight = 1e-13;
  expect_close(p.mine.sum_squares, r.aa, kTight, "aa");
  expect_close(p.golden.sum_squares, r.bb, kTight, "bb");
  EXPECT_NEAR(p.dot, static_cast<double>(r.ab),
              static_cast<double>(std::sqrt(r.aa * r.bb)) * kTight + 1e-300);
  expect_close(p.diff_squares, r.dd, 1e-12, "dd");
  expect_close(p.abs_diff, r.ad, 1e-12, "ad");
  EXPECT_NEAR(p.diff, static_cast<double>(r.d), static_cast<double>(r.ad) * 1e-6 + 1e-300);
  EXPECT_EQ(p.max_abs, r.finite > 0 ? r.max_abs : -1);
  EXPECT_EQ(p.worst, r.worst);
  EXPECT_EQ(p.equal, r.equal);
  EXPECT_EQ(p.finite, r.finite);
  EXPECT_EQ(p.nonfinite_mismatch, r.mismatch);
  if (r.finite > 0) {
    EXPECT_EQ(p.mine.min, r.min_a);
    EXPECT_EQ(p.mine.max, r.max_a);
  }
  expect_close(g.relative.max, r.r_max, quotient_tolerance, "max_rel");
  expect_close(g.relative.sum, r.r, quotient_tolerance, "sum_rel");
  expect_close(g.relative.max_over_zero, r.r_max_over_zero, quotient_tolerance, "max_over_zero");
  EXPECT_NEAR(static_cast<double>(g.relative.under_1e3), static_cast<double>(r.under_1e3), 1);
  EXPECT_NEAR(static_cast<double>(g.relative.under_5e3), static_cast<double>(r.under_5e3), 1);
}

std::vector<double> random_values(size_t n, unsigned seed, double scale = 1) {
  std::mt19937_64 engine(seed);
  std::normal_distribution<double> normal;
  std::vector<double> values(n);
  for (double& value : values) value = normal(engine) * scale;
  return values;
}

class EveryLength : public ::testing::TestWithParam<size_t> {};

TEST_P(EveryLength, AgreesWithLongDouble) {
  const size_t n = GetParam();
  const auto golden = random_values(n, 1), noise = random_values(n, 2, 1e-3);
  std::vector<double> mine(n);
  for (size_t i = 0; i < n; ++i) mine[i] = golden[i] + noise[i];
  for (const DType dtype :
       {DType::f64, DType::f32, DType::f16, DType::bf16, DType::f8e4m3fn, DType::i32, DType::i8}) {
    SCOPED_TRACE(name(dtype));
    expect_like_reference(*narrowed(dtype, mine), *narrowed(dtype, golden), 3e-7);
  }
  expect_like_reference(*narrowed(DType::bf16, mine), *narrowed(DType::f32, golden), 3e-7);
  expect_like_reference(*narrowed(DType::f16, mine), *narrowed(DType::f64, golden), 3e-7);
}
INSTANTIATE_TEST_SUITE_P(Lengths, EveryLength,
                         ::testing::Values(0, 1, 2, 7, 8, 15, 16, 17, 31, 1000, 2047, 2048, 2049, 4096 + 5,
                                           70000));

TEST(PairGatherer, MeasuresTheFinitePartAndCountsTheRest) {
  auto golden = random_values(5000, 3), mine = golden;
  for (size_t i = 0; i < mine.size(); ++i) mine[i] *= 1 + 1e-4 * static_cast<double>(i % 7);
  golden[3] = kNan, mine[3] = kNan;  // equal
  golden[4] = kInf, mine[4] = kInf;  // equal
  golden[2100] = 1, mine[2100] = kNan;
  golden[2101] = kInf, mine[2101] = -kInf;
  golden[4999] = -kInf, mine[4999] = 2;
  for (const DType dtype : {DType::f64, DType::f32, DType::bf16}) {
    const auto a = narrowed(dtype, mine), b = narrowed(dtype, golden);
    expect_like_reference(*a, *b, 3e-7);
    const Gathered g = gather_all(*a, *b);
    EXPECT_EQ(g.pair.mine.nans, 2);
    EXPECT_EQ(g.pair.mine.infs, 2);
    EXPECT_EQ(g.pair.golden.nans, 1);
    EXPECT_EQ(g.pair.golden.infs, 3);
    EXPECT_EQ(g.pair.worst, 2100);
  }
}

TEST(PairGatherer, ZerosAndTinyValuesInGolden) {
  std::vector<double> golden = {0, 0, 1e-8, 0x1p-23, 0x1.8p-23, 2, 0},
                      mine = {0, 5, 1e-8, 2e-7, 3e-7, 1, -0.0};
  for (int i = 0; i < 3000; ++i)
    golden.push_back(i % 3 == 0 ? 0 : i), mine.push_back(i % 5 == 0 ? 0 : i + 0.5);
  expect_like_reference(*narrowed(DType::f32, mine), *narrowed(DType::f32, golden), 3e-7);
  expect_like_reference(*narrowed(DType::f64, mine), *narrowed(DType::f64, golden), 1e-12);
}

TEST(PairGatherer, ExtremeMagnitudes) {
  for (const double scale : {1e-310, 1e-200, 1e-30, 1e30, 1e200, 1e305}) {
    SCOPED_TRACE(scale);
    const auto golden = random_values(3000, 5, scale);
    auto mine = golden;
    for (double& x : mine) x *= 1.001;
    const auto a = narrowed(DType::f64, mine), b = narrowed(DType::f64, golden);
    const auto plan = plan_metrics(std::vector<std::string>{"cosine", "rel_l2", "golden_norm"});
    ASSERT_TRUE(plan.has_value());
    const auto values = plan->finish(gather_all(*a, *b, plan->gathering()));
    EXPECT_NEAR(std::get<double>(values[0]), 1, 1e-9);
    EXPECT_NEAR(std::get<double>(values[1]), 0.001, scale < 1e-300 ? 1e-4 : 1e-9);
  }
  // f32: differences that overflow f32, and subnormals.
  const std::vector<double> huge = {3e38, -3e38, 1e20}, other = {3e38, 3e38, 1e20};
  expect_like_reference(*narrowed(DType::f32, huge), *narrowed(DType::f32, other), 3e-7);
  const std::vector<double> tiny = {1e-45, 3e-45, 1e-40}, twice = {3e-45, 3e-45, 2e-40};
  expect_like_reference(*narrowed(DType::f32, tiny), *narrowed(DType::f32, twice), 3e-7);
}

std::vector<Value> measured(const std::vector<double>& mine, const std::vector<double>& golden, DType dtype,
                            std::vector<std::string> names) {
  const auto plan = plan_metrics(names);
  return plan->finish(gather_all(*narrowed(dtype, mine), *narrowed(dtype, golden), plan->gathering()));
}

TEST(PairGatherer, TheLargestAndTheSmallestDoubles) {
  auto huge = measured({1.7e308, 1.7e308, 1.7e308}, {1.7e308, 1.7e308, 1.6e308}, DType::f64,
                       {"rel_l2", "cosine", "mean_abs"});
  EXPECT_NEAR(std::get<double>(huge[0]), 0.1 / std::sqrt(1.7 * 1.7 * 2 + 1.6 * 1.6), 1e-12);
  EXPECT_NEAR(std::get<double>(huge[1]), 0.99962, 1e-4);
  EXPECT_NEAR(std::get<double>(huge[2]) / 1e307, 1.0 / 3, 1e-9);
  const auto tiny = measured({1e-320, 1e-320}, {2e-320, 2e-320}, DType::f64, {"rel_l2", "cosine"});
  EXPECT_NEAR(std::get<double>(tiny[0]), 0.5, 1e-3);
  EXPECT_NEAR(std::get<double>(tiny[1]), 1, 1e-12);
}

TEST(PairGatherer, AScaledPassLeavesWhatIsExactAlone) {
  const auto values = measured({1e200, 1e-200, 2}, {1e200, -1e-200, 2}, DType::f64,
                               {"max_abs", "equal", "mine_min", "worst"});
  EXPECT_EQ(std::get<double>(values[0]), 2e-200);
  EXPECT_EQ(std::get<int64_t>(values[1]), 2);
  EXPECT_EQ(std::get<double>(values[3]), 1e-200);
  EXPECT_EQ(std::get<int64_t>(values[7]), 1);
}

TEST(PairGatherer, RelativeErrorsWithoutAValueAreAbsentAndNeverInfinite) {
  const auto none = measured({1, 1}, {0, 0}, DType::f32, {"max_rel", "mean_rel"});
  EXPECT_TRUE(std::holds_alternative<std::monostate>(none[0]));
  EXPECT_EQ(std::get<int64_t>(none[1]), 2);
  EXPECT_TRUE(std::holds_alternative<std::monostate>(none[2]));
  const auto large = measured({1e30, 1}, {1e-30, 1}, DType::f32, {"max_rel"});
  EXPECT_NEAR(std::get<double>(large[0]) / 1e60, 1, 1e-6);
}

TEST(PairGatherer, SixtyFourBitIntegersAreComparedExactly) {
  const std::vector<int64_t> mine = {16777217, (int64_t{1} << 62) + 1, -3,
                                     std::numeric_limits<int64_t>::max()};
  const std::vector<int64_t> golden = {16777216, int64_t{1} << 62, -3, std::numeric_limits<int64_t>::min()};
  const Gathered g = gather_all(*tensor(DType::i64, mine), *tensor(DType::i64, golden));
  EXPECT_EQ(g.pair.equal, 1);
  EXPECT_EQ(g.pair.max_abs, 0x1p64);
  EXPECT_EQ(g.pair.worst, 3);
  EXPECT_EQ(g.ulp.max, std::numeric_limits<uint64_t>::max());
  const std::vector<uint64_t> large = {std::numeric_limits<uint64_t>::max()};
  const std::vector<int64_t> minus = {-1};
  EXPECT_EQ(gather_all(*tensor(DType::u64, large), *tensor(DType::i64, minus)).pair.max_abs, 0x1p64);
}

TEST(PairGatherer, CountsUlpsInTheCoarserType) {
  const std::vector<float> golden = {1.0f, -1.0f, 0.0f, 2.0f};
  std::vector<float> mine = golden;
  mine[0] = std::nextafter(std::nextafter(1.0f, 2.0f), 2.0f);
  mine[1] = std::nextafter(-1.0f, 0.0f);
  mine[2] = -0.0f;
  const Gathered g = gather_all(*tensor(DType::f32, mine), *tensor(DType::f32, golden));
  EXPECT_EQ(g.ulp.max, 2u);
  EXPECT_EQ(g.ulp.sum, 3);
  // One step of bf16 at 1 is 2^-7. 1 + 2^-6 in f32 is two steps away from 1.
  const auto coarse = narrowed(DType::bf16, {1, 1}), fine = narrowed(DType::f32, {1 + 0x1p-6, 1 + 0x1p-20});
  const Gathered mixed = gather_all(*coarse, *fine);
  EXPECT_EQ(mixed.ulp.dtype, DType::bf16);
  EXPECT_EQ(mixed.ulp.max, 2u);
  EXPECT_EQ(mixed.ulp.sum, 2);
  // Across zero: -smallest … +smallest is two steps, in every type with a sign.
  for (const DType dtype :
       {DType::f64, DType::f32, DType::f16, DType::bf16, DType::f8e4m3fn, DType::f8e5m2}) {
    SCOPED_TRACE(name(dtype));
    const double smallest = dtype == DType::f64        ? 0x1p-1074
                            : dtype == DType::f32      ? 0x1p-149
                            : dtype == DType::f16      ? 0x1p-24
                            : dtype == DType::bf16     ? 0x1p-133
                            : dtype == DType::f8e4m3fn ? 0x1p-9
                                                       : 0x1p-16;
    EXPECT_EQ(gather_all(*narrowed(dtype, {-smallest}), *narrowed(dtype, {smallest})).ulp.max, 2u);
  }
}

TEST(PairGatherer, QuantilesComeFromTheSortedDifferences) {
  const size_t n = 40000;
  const auto golden = random_values(n, 7), noise = random_values(n, 8, 1e-2);
  std::vector<double> mine(n);
  for (size_t i = 0; i < n; ++i) mine[i] = golden[i] + noise[i];
  const auto a = narrowed(DType::f32, mine), b = narrowed(DType::f32, golden);
  const auto x = widened(*a), y = widened(*b);
  std::vector<double> sorted(n);
  for (size_t i = 0; i < n; ++i) sorted[i] = std::abs(x[i] - y[i]);
  std::sort(sorted.begin(), sorted.end());
  const Gathered g = gather_all(*a, *b);
  for (const double q : {0.5, 0.9, 0.99, 0.999}) {
    const double wanted = sorted[static_cast<size_t>(std::ceil(q * static_cast<double>(n))) - 1];
    EXPECT_NEAR(g.abs_diff->quantile(q), wanted, wanted * 0.009);
  }
}

TEST(PairGatherer, KlDivergenceOfKnownVectors) {
  // Vectors with results of the original tool (f32 arithmetic, hence the tolerance).
  const auto kl = [](std::vector<double> golden, std::vector<double> mine) {
    const auto plan = plan_metrics(std::vector<std::string>{"kl"});
    return std::get<double>(plan->finish(
        gather_all(*narrowed(DType::f32, mine), *narrowed(DType::f32, golden), plan->gathering()))[0]);
  };
  EXPECT_NEAR(kl({1, 2, 3, 4}, {1, 2.5, 2, 4}), 0.09547056257724762, 1e-6);
  EXPECT_NEAR(kl({0, 0, 0}, {1, -1, 2}), 0.583733320236206, 1e-6);
  EXPECT_NEAR(kl({1, -1, 2}, {0, 0, 0}), 0.3847465217113495, 1e-6);
  EXPECT_NEAR(kl({3e38, -3e38, 1e20}, {3e38, 3e38, 1e20}), 0.6931471824645996, 1e-6);
  EXPECT_EQ(kl({5, 6, 7}, {5, 6, 7}), 0);
  // Many tiles with rising peaks: rescaling must not lose anything.
  const size_t n = 10000;
  std::vector<double> golden(n), mine(n);
  for (size_t i = 0; i < n; ++i)
    golden[i] = static_cast<double>(i) * 0.01, mine[i] = golden[i] + 0.1 * std::sin(static_cast<double>(i));
  const auto a = widened(*narrowed(DType::f32, mine)), b = widened(*narrowed(DType::f32, golden));
  long double zg = 0, zm = 0, value = 0;
  for (size_t i = 0; i < n; ++i)
    zg += std::exp(static_cast<long double>(b[i]) - 100),
        zm += std::exp(static_cast<long double>(a[i]) - 100);
  for (size_t i = 0; i < n; ++i)
    value +=
        std::exp(static_cast<long double>(b[i]) - 100) / zg * (b[i] - a[i] - std::log(zg) + std::log(zm));
  EXPECT_NEAR(kl(golden, mine), static_cast<double>(value), 1e-12);
}

TEST(PairGatherer, ComplexIsComparedByComponents) {
  const std::vector<float> mine = {1, 2, 3, 4}, golden = {1, 2, 3, 5};
  const Gathered g = gather_all(*tensor(DType::c64, mine), *tensor(DType::c64, golden));
  EXPECT_EQ(g.pair.count, 4);
  EXPECT_EQ(g.pair.equal, 3);
  EXPECT_EQ(g.pair.max_abs, 1);
  const auto plan = plan_metrics(std::vector<std::string>{"worst"});
  EXPECT_EQ(std::get<int64_t>(plan->finish(g)[0]), 1);  // the second element
}

TEST(PairGatherer, BandsMergeToTheSameBits) {
  const int64_t n = kBandElements + kBlockElements + 77;
  std::vector<float> mine(static_cast<size_t>(n)), golden(mine.size());
  for (size_t i = 0; i < mine.size(); ++i) {
    golden[i] = std::sin(static_cast<float>(i));
    mine[i] = golden[i] * (1 + 1e-5f * static_cast<float>(i % 13));
  }
  const auto a = tensor(DType::f32, mine), b = tensor(DType::f32, golden);
  const Gathered whole = gather_all(*a, *b);
  PairScratch scratch;
  auto first = gather_band(*a, *b, {kEverything}, 0, 0, kBandElements, scratch);
  PairScratch other;
  const auto second = gather_band(*a, *b, {kEverything}, 0, kBandElements, n - kBandElements, other);
  ASSERT_TRUE(first && second);
  first->merge(*second);
  EXPECT_EQ(first->pair.dot, whole.pair.dot);
  EXPECT_EQ(first->pair.diff_squares, whole.pair.diff_squares);
  EXPECT_EQ(first->pair.worst, whole.pair.worst);
  EXPECT_EQ(first->relative.sum, whole.relative.sum);
  EXPECT_EQ(first->softmax.cross, whole.softmax.cross);
  EXPECT_EQ(first->ulp.sum, whole.ulp.sum);
}

TEST(Metrics, UnknownNameListsWhatThereIs) {
  const auto plan = plan_metrics(std::vector<std::string>{"cosinus"});
  ASSERT_FALSE(plan.has_value());
  EXPECT_NE(plan.error().message.find("cosine"), std::string::npos);
}

TEST(Metrics, EmptyTensorsHaveNoNumbersAndNoCrash) {
  const auto plan = plan_metrics(std::vector<std::string>{"all"});
  ASSERT_TRUE(plan.has_value());
  const auto values = plan->finish(
      gather_all(*tensor(DType::f32, std::vector<float>{}), *tensor(DType::f32, std::vector<float>{})));
  EXPECT_EQ(values.size(), plan->columns.size());
  EXPECT_TRUE(std::holds_alternative<std::monostate>(values[0]));
}

TEST(Checksums, KnownVectors) {
  const auto digits = tensor(DType::u8, std::vector<uint8_t>{'1', '2', '3', '4', '5', '6', '7', '8', '9'});
  Scratch scratch;
  EXPECT_EQ(*crc32_of(*digits, scratch), "cbf43926");
  EXPECT_EQ(*md5_of(*digits, scratch), "25f9e794323b453885f5181f1b624d0b");
}

}  // namespace
}  // namespace assay

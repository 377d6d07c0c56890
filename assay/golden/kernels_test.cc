#include "assay/golden/kernels.h"

#include "assay/golden/attention_kernel.h"
#include "assay/golden/bounded.h"
#include "assay/golden/golden_test_tools.h"

#include <hwy/targets.h>

#include <cfloat>
#include <limits>

namespace assay {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr double kUnit = 0x1p-24;

// Every f16 but NaN, and what only f32 has.
std::vector<double> arguments() {
  std::vector<double> all;
  for (unsigned bits = 0; bits < 65536; ++bits) {
    const double each = double{f16_to_f32(static_cast<uint16_t>(bits))};
    if (!std::isnan(each)) all.push_back(each);
  }
  for (const double each :
       {1e-38, 1e-30, 3e5, 1e6, 1e10, 3e38, 87.3, 103.9, 708.5, 0.2499999, 0.25, 1.5707964})
    for (const double sign : {-1.0, 1.0}) all.push_back(sign * each);
  return all;
}

using Kernel = std::function<void(const double*, int64_t, kernel::Out)>;

struct Computed {
  std::vector<double> values, errors;
};
Computed computed(const Kernel& kernel, const std::vector<double>& x) {
  Computed out{std::vector<double>(x.size()), std::vector<double>(x.size())};
  kernel(x.data(), std::ssize(x), {out.values.data(), out.errors.data()});
  return out;
}

Kernel with_unit(void (*kernel)(const double*, int64_t, double, kernel::Out)) {
  return [kernel](const double* x, int64_t n, kernel::Out out) { kernel(x, n, kUnit, out); };
}

// Runs `check` once for each kind of CPU that this one can stand for.
template <class Check>
void for_each_target(Check check) {
  for (int64_t left = hwy::SupportedTargets(); left != 0; left &= left - 1) {
    const int64_t target = left & -left;
    hwy::SetSupportedTargetsForTest(target);
    hwy::GetChosenTarget().Update(target);
    check(hwy::TargetName(target));
  }
  hwy::SetSupportedTargetsForTest(0);
  hwy::GetChosenTarget().Update(hwy::SupportedTargets());
}

// Within `relative` of the true value, or off by no more than `floor`, which is nothing beside the smallest
// f32.
void expect_close(const std::string& name, const Kernel& kernel, double (*exact)(double),
                  double relative = 0x1p-43, double floor = 1e-50) {
  const std::vector<double> x = arguments();
  const Computed out = computed(kernel, x);
  for (size_t i = 0; i < x.size(); ++i) {
    const double value = exact(x[i]);
    if (!std::isfinite(value)) {
      ASSERT_TRUE(std::isnan(value) ? std::isnan(out.values[i]) : out.values[i] == value)
          << name << " of " << x[i];
      continue;
    }
    ASSERT_LE(std::abs(out.values[i] - value), std::max(relative * std::abs(value), floor))
        << name << " of " << x[i] << ": " << out.values[i] << " for " << value;
    if (std::isfinite(x[i])) {
      ASSERT_GE(out.errors[i], 0) << name << " of " << x[i];
    }
  }
}

TEST(Kernels, StayWithinTheirErrorAtEveryF16) {
  expect_close("sigmoid", with_unit(kernel::sigmoid), [](double x) { return 1 / (1 + std::exp(-x)); });
  expect_close("tanh", with_unit(kernel::tanh), [](double x) { return std::tanh(x); });
  expect_close("sine", with_unit(kernel::sine), [](double x) { return std::sin(x); });
  expect_close("cosine", with_unit(kernel::cosine), [](double x) { return std::cos(x); });
  expect_close("log", with_unit(kernel::logarithm), [](double x) { return std::log(x); });
  expect_close("swish", with_unit([](const double* x, int64_t n, double u, kernel::Out out) {
                 kernel::swish(x, n, 1.702, u, out);
               }),
               [](double x) { return x / (1 + std::exp(-1.702 * x)); });
  expect_close("fast gelu", with_unit(kernel::fast_gelu), [](double x) {
    return x * std::exp(0.851 * (x - std::abs(x))) / (1 + std::exp(-1.702 * std::abs(x)));
  });
  // Of erfc 2^-28.6 is asked; std::erfc keeps what 1 + erf would
  // cancel.
  expect_close(
      "gelu by erf", with_unit(kernel::gelu_by_erf),
      [](double x) { return 0.5 * x * std::erfc(-x * std::sqrt(0.5)); }, 0x1p-28 / 1.5);
  expect_close("gelu by tanh", with_unit(kernel::gelu_by_tanh), [](double x) {
    return x / (1 + std::exp(-2 * 0.79788456080286535588 * (x + 0.044715 * x * x * x)));
  });
}

TEST(Kernels, PassNanOn) {
  const std::vector<double> x(9, kNan);
  for (const auto function : {kernel::sigmoid, kernel::gelu_by_tanh, kernel::gelu_by_erf, kernel::fast_gelu,
                              kernel::logarithm, kernel::tanh, kernel::sine, kernel::cosine, kernel::softmax})
    for (const double each : computed(with_unit(function), x).values) EXPECT_TRUE(std::isnan(each));
}

TEST(Kernels, GiveTheSameBitsOnEveryCpu) {
  const std::vector<double> x = arguments();
  const std::vector<void (*)(const double*, int64_t, double, kernel::Out)> functions = {
      kernel::sigmoid, kernel::gelu_by_tanh, kernel::gelu_by_erf, kernel::fast_gelu, kernel::logarithm,
      kernel::tanh,    kernel::sine,         kernel::cosine,      kernel::softmax};
  const auto all = [&](int64_t n) {
    std::vector<uint64_t> bits;
    for (const auto function : functions) {
      const Computed out = computed(with_unit(function), {x.begin(), x.begin() + n});
      for (const auto* part : {&out.values, &out.errors})
        for (const double each : *part)
          bits.push_back(std::isnan(each) ? 0x7FF8000000000000 : std::bit_cast<uint64_t>(each));
    }
    bits.push_back(std::bit_cast<uint64_t>(kernel::sum_of_products(x.data(), x.data(), 31 * 1000 + n % 8)));
    return bits;
  };
  for (const int64_t n : {int64_t{1}, int64_t{7}, int64_t{8}, int64_t{19}, int64_t{2003}}) {
    std::vector<uint64_t> first;
    for_each_target([&](const char* target) {
      const std::vector<uint64_t> bits = all(n);
      if (first.empty()) first = bits;
      EXPECT_TRUE(bits == first) << target << " " << n;
    });
  }
}

TEST(Kernels, SoftmaxSumsToOneAndLeavesOutWhatIsMasked) {
  std::vector<double> x(1003);
  for (size_t i = 0; i < x.size(); ++i) x[i] = std::sin(static_cast<double>(i)) * 9;
  x[17] = -kInfinity;
  x[18] = -5000;
  const Computed out = computed(with_unit(kernel::softmax), x);
  double sum = 0, exact = 0;
  for (const double each : out.values) sum += each;
  for (const double each : x) exact += std::exp(each);
  EXPECT_NEAR(sum, 1, 1e-12);
  EXPECT_EQ(out.values[17], 0);
  EXPECT_EQ(out.values[18], 0);
  EXPECT_EQ(out.errors[17], 0);
  EXPECT_NEAR(out.values[900], std::exp(x[900]) / exact, 1e-13 * out.values[900]);
}

TEST(Kernels, AllowNothingBesideInfinityAndNeverLessThanTheSmallestNumber) {
  const std::vector<double> values = {1, kInfinity, 2, -4, 0, kNan, 1, 1, 3},
                            errors = {0.5, kInfinity, 1e300, 0, 0, kNan, 0, 0, 1};
  std::vector<float> to(values.size()), allowed(values.size());
  kernel::keep_short(values.data(), errors.data(), std::ssize(values), to.data(), allowed.data());
  for (size_t i = 0; i < values.size(); ++i)
    EXPECT_EQ(allowed[i], allowance(errors[i] + kUnit * std::abs(values[i]))) << i;
  EXPECT_EQ(to[3], -4);
  kernel::keep_narrow(values.data(), errors.data(), std::ssize(values), to.data(), allowed.data());
  EXPECT_EQ(allowed[1], 0);
  EXPECT_EQ(allowed[5], 0);
  EXPECT_EQ(allowed[2], 3e38f);
  EXPECT_NEAR(double{allowed[8]}, 1, 1e-5);
}

TEST(AttentionKernel, WeighsScoresAndTheirErrors) {
  for_each_target([](const char* target) {
    std::vector<float> scores(131), linear(3), random(3 * kernel::kSpreadSets);
    for (size_t i = 0; i < scores.size(); ++i) scores[i] = static_cast<float>(i % 13) - 6;
    scores[5] = -std::numeric_limits<float>::infinity();
    const std::vector<float> given = scores;
    EXPECT_EQ(kernel::largest_score(scores.data(), std::ssize(scores)), 6) << target;
    const double sum = kernel::weigh_scores(scores.data(), std::ssize(scores), 6, nullptr,
                                            {1, 0, 1, 0, 0, 1, nullptr}, linear.data(), random.data());
    double exact = 0, of_last = 0;
    for (const float each : given) exact += std::exp(double{each} - 6);
    for (size_t j = 64 + 3; j < 128; j += 4) of_last += std::exp(2 * (double{given[j]} - 6));
    EXPECT_NEAR(sum, exact, 1e-5 * exact) << target;
    EXPECT_EQ(scores[5], 0) << target;
    EXPECT_NEAR(double{linear[0] + linear[1] + linear[2]}, exact, 1e-5 * exact) << target;
    // The fourth set of the second group: every fourth key.
    EXPECT_NEAR(double{random[kernel::kSpreadSets + 3]}, of_last, 1e-5 * of_last) << target;
    EXPECT_NEAR(double{scores[130]}, std::exp(-12.0), 1e-6 * std::exp(-12.0)) << target;
  });
}

}  // namespace
}  // namespace assay

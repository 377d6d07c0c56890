#include "assay/compat/msprobe/metric/errors.h"

#include "assay/compat/msprobe/metric/metrics.h"
#include "assay/metric/families.h"
#include "assay/metric/tile_kernels.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace assay {
namespace {

constexpr double kDoubleEpsilon = 0x1p-52;

// msprobe widens bf16 and f8 when it loads them; what numpy does not call a float becomes double.
DType held_as(DType component_type) {
  if (!is_real(component_type)) return DType::f64;
  return component_type == DType::f16 || component_type == DType::f64 ? component_type : DType::f32;
}

DType wider(DType a, DType b) { return size_of(a) >= size_of(b) ? a : b; }

double epsilon_of(DType type) {
  if (type == DType::f16) return 0x1p-10;
  return type == DType::f32 ? 0x1p-23 : kDoubleEpsilon;
}

double rounded_to(DType type, double value) {
  if (type == DType::f64) return value;
  const auto narrow = static_cast<float>(value);
  return static_cast<double>(type == DType::f16 ? f16_to_f32(f32_to_f16(narrow)) : narrow);
}

// Relative errors as one generation computes them, of all pairs: one that is not finite counts as 0 against
// 0.
class MsprobeErrorSums final : public OwnSums {
 public:
  explicit MsprobeErrorSums(const tile::MsprobeRule& rule) : rule_(rule) {}

  void add(const float* mine, const float* golden, int64_t n) override {
    if (rule_.type != DType::f64) return take(tile::msprobe_errors(mine, golden, n, rule_));
    alignas(64) double wide_mine[tile::kTile], wide_golden[tile::kTile];  // small integers
    std::copy(mine, mine + n, wide_mine);
    std::copy(golden, golden + n, wide_golden);
    add(wide_mine, wide_golden, n);
  }
  void add(const double* mine, const double* golden, int64_t n) override {
    take(tile::msprobe_errors(mine, golden, n, rule_));
  }
  void merge(const OwnSums& later) override { take(dynamic_cast<const MsprobeErrorSums&>(later).all_); }

  const tile::MsprobeErrors& all() const { return all_; }

 private:
  void take(const tile::MsprobeErrors& later) {
    all_.max = std::isnan(all_.max) || std::isnan(later.max) ? std::nan("") : std::max(all_.max, later.max);
    all_.under_1e3 += later.under_1e3;
    all_.under_5e3 += later.under_5e3;
  }

  const tile::MsprobeRule rule_;
  tile::MsprobeErrors all_;
};

template <Generation kGeneration>
std::unique_ptr<OwnSums> open_errors(DType mine, DType golden) {
  return std::make_unique<MsprobeErrorSums>(msprobe_rule(kGeneration, mine, golden));
}

// Generation 1 makes doubles of a kernel's tensors first.
std::unique_ptr<OwnSums> open_errors_of_doubles(DType, DType) {
  return std::make_unique<MsprobeErrorSums>(msprobe_rule(Generation::g1, DType::f64, DType::f64));
}

using Open = std::unique_ptr<OwnSums> (*)(DType mine, DType golden);

template <Open kOpen>
const tile::MsprobeErrors& errors_in(const Gathered& g) {
  return dynamic_cast<const MsprobeErrorSums&>(g.own_sums_by(kOpen)).all();
}

// msprobe compares nothing where NaN or Inf stand against another kind of value.
bool is_comparable(const Gathered& g) { return g.pair.count > 0 && g.pair.kind_mismatch == 0; }

template <Open kOpen>
void finish_errors(const Gathered& g, std::span<Value> out) {
  if (!is_comparable(g)) return;
  const tile::MsprobeErrors& errors = errors_in<kOpen>(g);
  const auto share = [&g](int64_t part) {
    return static_cast<double>(part) / static_cast<double>(g.pair.count);
  };
  out[0] = errors.max;
  out[1] = share(errors.under_1e3);
  out[2] = share(errors.under_5e3);
}

// G3 drops dimensions of size 1. What numpy then holds is a number without dimensions: msprobe divides it
// whether it is finite or not, and numpy takes it for a double only where a float is too small for it.
double single_error_g3(const Gathered& g) {
  const SideSums &mine = g.pair.mine, &golden = g.pair.golden;
  if (g.pair.finite == 0)
    return mine.infs > 0 && golden.infs == 0 && golden.nans == 0 ? std::numeric_limits<double>::infinity()
                                                                 : std::nan("");
  constexpr double kTooLargeForFloat = 3.4e38;
  if (std::max(std::abs(mine.min), std::abs(golden.min)) >= kTooLargeForFloat)
    return errors_in<open_errors<Generation::g3>>(g).max;
  const auto a = static_cast<float>(mine.min), b = static_cast<float>(golden.min);
  return tile::msprobe_errors(&a, &b, 1, msprobe_rule(Generation::g3, DType::f32, DType::f32)).max;
}

void finish_errors_g3(const Gathered& g, std::span<Value> out) {
  finish_errors<open_errors<Generation::g3>>(g, out);
  if (g.pair.count == 1) out[0] = single_error_g3(g);
}

}  // namespace

tile::MsprobeRule msprobe_rule(Generation generation, DType mine, DType golden) {
  DType a = held_as(component(mine)), b = held_as(component(golden));
  if (generation == Generation::g1 && !is_real(component(golden))) a = DType::f64;
  if (generation == Generation::g3) a = b = wider(wider(a, b), DType::f32);
  const double epsilon = generation == Generation::g2 ? kDoubleEpsilon : epsilon_of(b);
  return {wider(a, b), a, rounded_to(a, epsilon), rounded_to(b, epsilon)};
}

// From the sums that our own relative errors are made of: not the last bits of any version of the tool.
const Metric msprobe_metric{
    "msprobe",
    {"max_rel_msprobe", "ratio_1e3", "ratio_5e3"},
    gather::sums | gather::relative,
    false,
    "largest relative error as msprobe defines it, and the share of elements under 1/1000 and 5/1000",
    [](const Gathered& g, std::span<Value> out) {
      const bool any = g.pair.finite > 0;
      const auto share = [&g](int64_t part) {
        return static_cast<double>(part) / static_cast<double>(g.pair.finite);
      };
      out[0] = number_or_absent(g.relative.max_over_zero, any);
      out[1] = number_or_absent(share(g.relative.under_1e3), any);
      out[2] = number_or_absent(share(g.relative.under_5e3), any);
    }};

const Metric msprobe_g1_metric{
    "msprobe_g1",
    {"max_rel_g1", "ratio_1e3_g1", "ratio_5e3_g1"},
    gather::sums,
    false,
    "largest relative error and shares under 1/1000 and 5/1000, in the arithmetic of msprobe 1.1",
    finish_errors<open_errors<Generation::g1>>,
    nullptr,
    open_errors<Generation::g1>};

const Metric msprobe_g2_metric{"msprobe_g2",
                               {"max_rel_g2", "ratio_1e3_g2", "ratio_5e3_g2"},
                               gather::sums,
                               false,
                               "the same in the arithmetic of msprobe 8.3",
                               finish_errors<open_errors<Generation::g2>>,
                               nullptr,
                               open_errors<Generation::g2>};

const Metric msprobe_g3_metric{"msprobe_g3",
                               {"max_rel_g3", "ratio_1e3_g3", "ratio_5e3_g3"},
                               gather::sums,
                               false,
                               "the same in the arithmetic of msprobe 26.0",
                               finish_errors_g3,
                               nullptr,
                               open_errors<Generation::g3>};

// Kernels keep their dimensions, so that one element is computed with like many.
const Metric msprobe_kernel_metric{"msprobe_kernel",
                                   {"max_rel_kernel", "ratio_1e3_kernel", "ratio_5e3_kernel"},
                                   gather::sums,
                                   false,
                                   "the same as msprobe 26.0 has it of kernels",
                                   finish_errors<open_errors<Generation::g3>>,
                                   nullptr,
                                   open_errors<Generation::g3>};

const Metric msprobe_kernel_g1_metric{"msprobe_kernel_g1",
                                      {"max_rel_kernel_g1", "ratio_1e3_kernel_g1", "ratio_5e3_kernel_g1"},
                                      gather::sums,
                                      false,
                                      "the same as msprobe 1.1 has it of kernels",
                                      finish_errors<open_errors_of_doubles>,
                                      nullptr,
                                      open_errors_of_doubles};

// 1 where both sides are as good as zero, NaN where one is.
const Metric msprobe_cosine_metric{
    "msprobe_cosine",
    {"cosine_msprobe"},
    gather::sums,
    false,
    "cosine as msprobe defines it: 1 where both norms are at most 2^-52, NaN where one is",
    [](const Gathered& g, std::span<Value> out) {
      if (!is_comparable(g)) return;
      const double mine = std::sqrt(g.pair.mine.sum_squares), golden = std::sqrt(g.pair.golden.sum_squares);
      const double smallest = std::ldexp(kDoubleEpsilon, g.pair.scale);  // the sums are scaled too
      if (mine <= smallest || golden <= smallest) {
        out[0] = mine <= smallest && golden <= smallest ? 1.0 : std::nan("");
        return;
      }
      out[0] = std::clamp(g.pair.dot / (mine * golden), -1.0, 1.0);
    }};

const Metric nonfinite_kinds_metric{
    "nonfinite_kinds",
    {"nonfinite_kind_mismatch"},
    gather::sums,
    false,
    "places where NaN or Inf stand against another kind of value; the sign of Inf does not matter",
    [](const Gathered& g, std::span<Value> out) { out[0] = g.pair.kind_mismatch; }};

MetricTable msprobe_metrics() {
  static constexpr const Metric* kTable[] = {
      &msprobe_metric,        &stat_diff_g2_metric,    &stat_diff_g3_metric,   &msprobe_g1_metric,
      &msprobe_g2_metric,     &msprobe_g3_metric,      &msprobe_kernel_metric, &msprobe_kernel_g1_metric,
      &msprobe_cosine_metric, &nonfinite_kinds_metric,
  };
  return kTable;
}

}  // namespace assay

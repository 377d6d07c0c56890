// The numbers of the default rules.
#include "assay/judge/native_defaults.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <mutex>
#include <optional>

namespace assay {
namespace {

// relative: bound of the relative error of the whole tensor (rel_l2); single elements may be 16 times as far
// off, measured in the golden root mean square, or 4 times, measured in their own golden value. ulps: steps
// of the type within which every element is as good as equal, whatever the rest says.
struct Threshold {
  DType dtype;
  double relative;
  int ulps;
};

constexpr std::array<Threshold, 14> kThresholds = {{
    // 45,000 eps: sums of any length in f64, and exp, sin, … of different libraries; a lost f64 path is 1e-7.
    {DType::f64, 1e-11, 16},
    // 128 eps: sums in f32 itself, in another order; their error grows with the root of the length, 128²
    // terms and more.
    {DType::f32, 1.5e-5, 16},
    // 4 eps: sums run in f32, but results are rounded a few times on the way; the next mistake (a bf16 path)
    // is 8 eps.
    {DType::f16, 4e-3, 4},
    // 4 eps, as f16: rounding only, accumulated through the layers of a model.
    {DType::bf16, 3.2e-2, 4},
    // From here on 1 eps: one step up or down in most elements is what requantising slightly different values
    // gives.
    {DType::f8e4m3fn, 0.125, 1},
    {DType::f8e4m3fnuz, 0.125, 1},
    {DType::f8e5m2, 0.25, 1},
    {DType::f8e5m2fnuz, 0.25, 1},
    // Its precision tapers from 3 fraction bits to none; 2 bits is what values away from 1 have.
    {DType::hif8, 0.25, 1},
    {DType::f6e2m3, 0.125, 1},
    {DType::f6e3m2, 0.25, 1},
    {DType::f4e1m2, 0.25, 1},
    // Below 2 fraction bits eps says nothing any more (0.5 and 1); a quarter still tells apart noise and
    // another tensor.
    {DType::f4e2m1, 0.25, 1},
    // Its step is a factor of two: a scale that is one step off doubles a whole block.
    {DType::f8e8m0, 0.25, 0},
}};

// Indices, token ids and masks: there is no rounding, so any difference is one.
constexpr std::string_view kIntegerRule = "max_abs == 0";

// One run in int8: activations are cut into 255 steps of their range, which outliers make wide (measured, see
// docs/rules.md).
constexpr double kQuantised = 0.25;

// Rounding errors of the layers are independent and add like the steps of a random walk.
constexpr std::string_view kDeeper = " * sqrt(1 + layer)";

// Types of few bits would let anything stand in the place of one element: twice the typical size, or three
// quarters of its own, is another number. Errors beside the typical size drift like those of the whole; an
// element that is lost is as far off as it is large, however deep.
constexpr double kFewBits = 0.125, kMostOfTypical = 2, kMostOfOwn = 0.75;

// "16 * 0.032", or "min(2, 16 * 0.25)" where that says nothing any more.
std::string of_typical(double relative, std::string_view deeper) {
  const std::string bound = fmt::format("16 * {}", relative);
  return (16 * relative > kMostOfTypical ? fmt::format("min({}, {})", kMostOfTypical, bound) : bound) +
         std::string(deeper);
}

std::string of_own(double relative, std::string_view deeper) {
  const std::string bound = fmt::format("4 * {}{}", relative, deeper);
  const bool may_be_more = 4 * relative > kMostOfOwn || (relative >= kFewBits && !deeper.empty());
  return may_be_more ? fmt::format("min({}, {})", kMostOfOwn, bound) : bound;
}

std::string within(double relative, std::string_view deeper, int ulps) {
  return fmt::format(
      "nonfinite_mismatch == 0 and (rel_l2 <= {}{} and (max_abs <= {} * golden_rms or max_abs <= {} * "
      "abs(worst_golden)) or ulp_max <= {})",
      relative, deeper, of_typical(relative, deeper), of_own(relative, deeper), ulps);
}

std::string in_first_layer(const Threshold& t) { return within(t.relative, "", t.ulps); }

std::string in_later_layer(const Threshold& t) { return within(t.relative, kDeeper, t.ulps); }

std::string in_compiled_graph(const Threshold& t) { return within(kCompiled * t.relative, kDeeper, t.ulps); }

std::string in_quantised_layer(const Threshold& t) {
  const double whole = std::max(t.relative, kQuantised);
  const std::string bound = fmt::format("min({}, {}{})", std::max(whole, kQuantisedMost), whole, kDeeper);
  return fmt::format(
      "nonfinite_mismatch == 0 and (rel_l2 <= {0} and (max_abs <= 16 * {0} * golden_rms or max_abs <= "
      "4 * {0} * abs(worst_golden)) or ulp_max <= {1})",
      bound, t.ulps);
}

bool is_integral(DType dtype) { return !is_real(dtype); }

const Threshold* find_threshold(DType deciding) {
  const auto found = std::ranges::find(kThresholds, deciding, &Threshold::dtype);
  return found == kThresholds.end() ? nullptr : &*found;
}

// By element type, each parsed when it is first asked for: a run needs one or two of a hundred.
class RulesByType {
 public:
  using TextOf = std::string (*)(const Threshold&);
  explicit RulesByType(TextOf text) : text_(text) {}

  const Expression& operator[](DType dtype) {
    const auto at = static_cast<size_t>(dtype);
    std::call_once(parsed_[at], [&] {
      const Threshold* const threshold = find_threshold(dtype);
      Result<Expression> rule =
          Expression::parse(threshold != nullptr ? text_(*threshold) : std::string(kIntegerRule));
      ASSAY_CHECK(rule.has_value());
      rules_[at] = std::move(*rule);
    });
    return *rules_[at];
  }

 private:
  const TextOf text_;
  std::array<std::once_flag, kDTypeCount> parsed_;
  std::array<std::optional<Expression>, kDTypeCount> rules_;
};

}  // namespace

DType deciding_dtype(DType a, DType b) { return coarser(a, b); }

DType deciding_dtype_at(DType mine, DType golden, const ModelPlace& place) {
  const DType own = deciding_dtype(mine, golden);
  return is_integral(own) ? own : deciding_dtype(own, place.coarsest);
}

int ulps_allowed(DType mine, DType golden, const ModelPlace& place) {
  const Threshold* const threshold = find_threshold(deciding_dtype_at(mine, golden, place));
  return threshold == nullptr ? 0 : threshold->ulps;
}

double relative_bound(DType mine, DType golden, const ModelPlace& place) {
  const Threshold* const threshold = find_threshold(deciding_dtype_at(mine, golden, place));
  if (threshold == nullptr) return 0;
  const double deeper = std::sqrt(1.0 + place.layers_before);
  if (!place.is_quantised) return threshold->relative * deeper * (place.is_compiled ? kCompiled : 1);
  const double whole = std::max(threshold->relative, kQuantised);
  return std::min(std::max(whole, kQuantisedMost), whole * deeper);
}

const Expression& default_rule(DType mine, DType golden, const ModelPlace& place) {
  static RulesByType first(in_first_layer), later(in_later_layer), quantised(in_quantised_layer),
      compiled(in_compiled_graph);
  RulesByType& rules = place.is_quantised        ? quantised
                       : place.is_compiled       ? compiled
                       : place.layers_before > 0 ? later
                                                 : first;
  return rules[deciding_dtype_at(mine, golden, place)];
}

}  // namespace assay

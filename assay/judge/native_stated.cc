#include "assay/judge/native_stated.h"

#include "assay/judge/native_defaults.h"
#include "assay/model/blocks.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

namespace assay {
namespace {

// Where nobody says how deep in the model a tensor lies, single elements may be this many times as far off as
// the whole.
constexpr double kElementsApart = 16;

// Below it f16 has no finer steps: honest results there are a few of these apart, however small they are.
constexpr double kStepOfSmallF16 = 0x1p-24;
constexpr double kFewSteps = 4;

// A dump may write the extremes of a mask as numbers.
std::optional<double> as_number(const Scalar& scalar) {
  if (const auto truth = scalar.boolean()) return *truth ? 1.0 : 0.0;
  return number_of(scalar);
}

bool stated_equal(const Scalar& mine, const Scalar& golden, double bound) {
  const auto m = as_number(mine), g = as_number(golden);
  if (!m || !g) return mine == golden;
  if (std::isnan(*m) || std::isnan(*g)) return std::isnan(*m) && std::isnan(*g);
  if (mine.integer() && golden.integer() && bound == 0)
    return mine == golden;  // also beyond what a double holds
  if (std::isinf(*m) || std::isinf(*g)) return *m == *g;
  return *m == *g || std::abs(*m - *g) <= bound;
}

std::string stated_text(const Scalar& scalar) {
  if (const auto real = scalar.real()) return fmt::format("{:.6g}", *real);
  if (const auto whole = scalar.integer()) return fmt::format("{}", *whole);
  if (const auto truth = scalar.boolean()) return *truth ? "true" : "false";
  if (const auto text = scalar.text()) return std::string(*text);
  return "nothing";
}

// Arguments that are no tensors: a shape, a slice, a type. Types may be written in two ways.
bool same_argument(const Stated& mine, const Stated& golden) {
  const auto m = mine.max.text(), g = golden.max.text();
  if (m && g)
    if (const auto a = find_dtype(*m), b = find_dtype(*g); a && b) return *a == *b;
  return mine.dtype == golden.dtype && mine.shape == golden.shape && mine.checksum == golden.checksum;
}

// A dump need not state all that can be computed from the data of the other side, and cannot state all of a
// tensor that is stored in blocks.
bool is_silent(const Scalar& stated, const SideFacts& own, const SideFacts& other, const ModelPlace& place) {
  // Of a compiled graph there are four forms of statistics, and each says something else.
  return stated.is_absent() &&
         (other.computed || place.is_compiled || (own.item != nullptr && states_blocks(*own.item)));
}

// An engine may leave NaN and infinities out of its statistics and count them, where NumPy's become NaN.
bool leaves_out_nonfinite(const Stated& own, const Scalar& stated, const Scalar& other) {
  const auto here = number_of(stated), there = number_of(other);
  if (own.nonfinite == nullptr || !here || !there || !std::isfinite(*here) || std::isfinite(*there))
    return false;
  return own.nonfinite->nans > 0 || own.nonfinite->infs > 0;
}

// Reason to fail, where both sides count what is not finite.
std::optional<std::string> other_counts(const Stated& mine, const Stated& golden) {
  if (mine.nonfinite == nullptr || golden.nonfinite == nullptr) return std::nullopt;
  const Nonfinite &m = *mine.nonfinite, &g = *golden.nonfinite;
  struct Count {
    std::string_view what;
    int64_t mine, golden;
  };
  for (const Count& count : {Count{"NaN", m.nans, g.nans}, Count{"infinite", m.infs, g.infs},
                             Count{"-inf", m.minus_infs, g.minus_infs}})
    if (count.mine >= 0 && count.golden >= 0 && count.mine != count.golden)
      return fmt::format("{} elements of mine are {}, {} of golden", count.mine, count.what, count.golden);
  return std::nullopt;
}

double size_of_number(const Scalar& scalar) { return std::abs(number_of(scalar).value_or(0)); }

// Of the finite ones; infinite where there is none, so that nothing is bounded by it.
double larger_extreme(const Stated& stated) {
  double largest = -1;
  for (const Scalar* const extreme : {&stated.max, &stated.min})
    if (const double size = size_of_number(*extreme); std::isfinite(size)) largest = std::max(largest, size);
  return largest < 0 ? std::numeric_limits<double>::infinity() : largest;
}

// Two programs print the mean and the norm even of whole numbers with six or seven digits. The graph engine
// prints six of any number.
double printing_error(const Head& head) {
  return head.mine_layout == "torchair_ge" ? 1e-5 : head.cross_framework ? 1e-6 : 0;
}

struct Bounds {
  double norm, extremes, mean;
};

Bounds bounds_of(const Comparison& row, const Head& head, const ModelPlace& place) {
  const Stated& g = *row.golden.stated();
  const bool is_tensor = row.mine.meta && row.golden.meta;
  // Arguments that are no tensors are exact.
  const double t = is_tensor ? relative_bound(row.mine.meta->dtype, row.golden.meta->dtype, place) : 0;
  const double digits = printing_error(head);
  const double sums = is_tensor ? std::max(t, digits) : t;
  const double largest = larger_extreme(g), mean = size_of_number(g.mean);
  if (place.is_compiled && is_tensor) {
    const DType dtype = deciding_dtype_at(row.mine.meta->dtype, row.golden.meta->dtype, place);
    const double least = dtype == DType::f16 ? kFewSteps * kStepOfSmallF16 : 0;
    return {sums * size_of_number(g.norm), std::max(t * largest, least),
            std::max(sums * std::max(largest, mean), least)};
  }
  const double count = row.golden.meta ? static_cast<double>(row.golden.meta->shape.count()) : 1;
  const double rms = size_of_number(g.norm) / std::sqrt(std::max(count, 1.0));
  return {sums * size_of_number(g.norm), kElementsApart * t * largest,
          kElementsApart * sums * std::max(rms, mean)};
}

}  // namespace

Verdict judge_stated(const Comparison& row, const Head& head, const ModelPlace& place) {
  const Stated &m = *row.mine.stated(), &g = *row.golden.stated();
  if (!m.checksum.empty() && m.checksum == g.checksum) return {};
  const bool is_tensor = row.mine.meta && row.golden.meta;
  const bool is_bf16 = row.golden.meta && row.golden.meta->dtype == DType::bf16;
  // PyTorch hashes the 16 bits of a bf16, MindSpore the 32 it widens them to: equal tensors, other checksums.
  const bool comparable = !(head.cross_framework && is_bf16);
  if (head.content == Content::checksums && comparable && !m.checksum.empty() && !g.checksum.empty())
    return {Level::fail, fmt::format("checksums differ: {} and {}", m.checksum, g.checksum)};
  if (!is_tensor && same_argument(m, g)) return {};
  if (!is_tensor && (m.shape != g.shape || m.dtype != g.dtype))
    return {Level::fail, fmt::format("{} {} of mine, {} {} of golden", m.dtype, m.shape, g.dtype, g.shape)};
  if (const auto counts = other_counts(m, g)) return {Level::fail, *counts};
  const Bounds bounds = bounds_of(row, head, place);
  const auto extreme_bound = [&](const Scalar& mine, const Scalar& golden) {
    const bool is_printed = place.is_compiled && (mine.real() || golden.real());
    return std::max(bounds.extremes, is_printed ? printing_error(head) * size_of_number(golden) : 0.0);
  };
  struct Check {
    std::string_view what;
    const Scalar &mine, &golden;
    double bound;
  };
  for (const Check& check :
       {Check{"norm", m.norm, g.norm, bounds.norm}, Check{"max", m.max, g.max, extreme_bound(m.max, g.max)},
        Check{"min", m.min, g.min, extreme_bound(m.min, g.min)}, Check{"mean", m.mean, g.mean, bounds.mean}})
    if (!is_silent(check.mine, row.mine, row.golden, place) &&
        !is_silent(check.golden, row.golden, row.mine, place) &&
        !leaves_out_nonfinite(m, check.mine, check.golden) &&
        !leaves_out_nonfinite(g, check.golden, check.mine) &&
        !stated_equal(check.mine, check.golden, check.bound))
      return {
          Level::fail,
          fmt::format(
              "{} {} of mine, {} of golden{}", check.what, stated_text(check.mine), stated_text(check.golden),
              std::isfinite(check.bound) ? fmt::format("; {:.3g} apart is allowed", check.bound) : "")};
  if (!is_tensor && !m.checksum.empty() && !g.checksum.empty())  // a slice, say: only its checksum tells
    return {Level::fail, fmt::format("another {}: checksums {} and {}", m.dtype, m.checksum, g.checksum)};
  return {};
}

}  // namespace assay

#include "assay/metric/detail/diagnose.h"

#include "assay/tensor/dtype_limits.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <set>

namespace assay::detail {
namespace {

// So little of the difference may be left by what explains it.
constexpr double kLeft = 0.02;
// … and so many of the elements that were looked at have to be explained, each to a quarter of its own error.
constexpr double kExplained = 0.9, kOfOwn = 0.25;
// Of a tensor with fewer elements than these one sees them all.
constexpr int64_t kFewestAtAll = 16;
// Fewer elements than these fit anything. With two numbers that are free it takes more.
constexpr int64_t kFewest = 8, kFewestForTwo = 12;
// … and a line goes through any two values that golden may have.
constexpr size_t kFewestValuesForTwo = 4;
// Of Σd²: what makes so much of it makes the difference.
constexpr double kNearlyAll = 0.9;
// Differences so few are told one by one.
constexpr int64_t kFew = 8, kRareAmong = 8;

std::string number(double value) { return fmt::format("{:.5g}", value); }

// "12 elements (3.1 %)"
std::string share(double part, int64_t of) {
  const double percent = 100 * part / static_cast<double>(of);
  return fmt::format("{:.0f} {} ({} %)", part, part == 1 ? "element" : "elements",
                     percent < 0.01 ? "< 0.01" : fmt::format("{:.2g}", percent));
}

// How well a guess of mine, from golden, does element by element.
class Guess {
 public:
  Guess(const Looked& looked, double quiet) : quiet_(quiet) {
    for (const Sampled& each : looked.sums.sample)
      if (std::isfinite(each.mine) && std::isfinite(each.golden)) finite_.push_back(each);
  }

  // residual(mine, golden): what the guess leaves. Elements that are as good as equal say nothing.
  bool explains(const std::function<double(double, double)>& residual, int64_t fewest) const {
    int64_t telling = 0, explained = 0;
    for (const Sampled& each : finite_) {
      const double d = std::abs(each.mine - each.golden);
      const double left = std::abs(residual(each.mine, each.golden));
      if (d <= quiet_ && left <= quiet_) continue;
      ++telling;
      explained += left <= kOfOwn * d + quiet_ ? 1 : 0;
    }
    return telling >= fewest && static_cast<double>(explained) >= kExplained * static_cast<double>(telling);
  }
  bool has_values(size_t fewest) const {
    std::set<double> values;
    for (const Sampled& each : finite_)
      if (values.insert(each.golden).second && values.size() == fewest) return true;
    return false;
  }

 private:
  const double quiet_;
  std::vector<Sampled> finite_;
};

std::string plus(double offset) {
  return fmt::format("{} {}", offset < 0 ? "-" : "+", number(std::abs(offset)));
}

// mine as a function of golden: one of those that take a number or two.
std::optional<Diagnosis> fitted(const Looked& looked, const Detail& detail, const Guess& guess) {
  const double all = detail.as_it_is.rel_l2;
  const auto is_left = [&](const Detail::Fit& fit) { return fit.rel_l2 <= kLeft * all; };
  const auto explains = [&](const Detail::Fit& fit, int64_t fewest) {
    return is_left(fit) &&
           guess.explains(
               [&](double mine, double golden) { return mine - (fit.scale * golden + fit.offset); }, fewest);
  };
  if (!(all > 0)) return std::nullopt;
  if (explains(detail.by_scale, kFewest)) {
    // As close to -1 as the elements' own noise lets it be told.
    const double from_turned = std::abs(detail.by_scale.scale + 1);
    if (from_turned <= kOfOwn * std::min(kHiddenRounding, detail.by_scale.rel_l2) ||
        number(detail.by_scale.scale) == "-1")
      return Diagnosis{DiagnosisKind::sign_flipped, "mine = -golden"};
    return Diagnosis{DiagnosisKind::scaled, fmt::format("mine = {} x golden", number(detail.by_scale.scale))};
  }
  if (explains(detail.by_offset, kFewest))
    return Diagnosis{DiagnosisKind::offset,
                     fmt::format("off by a constant: mine = golden {}", plus(detail.by_offset.offset))};
  if (guess.has_values(kFewestValuesForTwo) && explains(detail.by_both, kFewestForTwo))
    return Diagnosis{DiagnosisKind::affine, fmt::format("mine = {} x golden {}", number(detail.by_both.scale),
                                                        plus(detail.by_both.offset))};
  const PairSums& sums = looked.start.sums;
  const bool same_sizes =
      std::abs(sums.mine.sum_squares - sums.golden.sum_squares) <= kLeft * sums.diff_squares;
  if (!same_sizes ||
      !guess.explains([](double mine, double golden) { return std::abs(mine) - std::abs(golden); }, kFewest))
    return std::nullopt;
  if (sums.mine.min >= 0 && sums.golden.min < 0)
    return Diagnosis{DiagnosisKind::sign_flipped, "mine = |golden|: signs are lost"};
  return Diagnosis{DiagnosisKind::sign_flipped, "the sign of some elements is flipped, their sizes agree"};
}

// NaN and infinities that stand against something else.
void add_nonfinite(const Looked& looked, const Detail& detail, std::vector<Diagnosis>& out) {
  if (detail.nonfinite_apart == 0) return;
  const DetailSums& sums = looked.sums;
  std::string text;
  const auto add = [&](int64_t here, int64_t there, std::string_view what, std::string_view side) {
    if (here == 0 || there > 0) return;
    text += fmt::format("{}{} in {} only: {}", text.empty() ? "" : "; ", what, side,
                        share(static_cast<double>(here), detail.count));
  };
  add(sums.mine_nans, sums.golden_nans, "NaN", "mine");
  add(sums.golden_nans, sums.mine_nans, "NaN", "golden");
  add(sums.mine_infs, sums.golden_infs, "infinities", "mine");
  add(sums.golden_infs, sums.mine_infs, "infinities", "golden");
  if (text.empty())
    text = fmt::format("NaN or infinities stand against something else: {}",
                       share(static_cast<double>(detail.nonfinite_apart), detail.count));
  out.push_back({DiagnosisKind::nonfinite, text});
}

std::string_view largest_of(double limit) {
  for (int i = 0; i < kDTypeCount; ++i) {
    const auto dtype = static_cast<DType>(i);
    if (is_real(dtype) && limits_of(dtype).largest == limit && limit > 64) return name(dtype);
  }
  return {};
}

// Elements that stay at the largest |mine| while golden goes on.
std::optional<Diagnosis> saturated(const Looked& looked, const Detail& detail) {
  const DetailSums& sums = looked.sums;
  if (sums.stuck < 1 || sums.stuck_squares < kNearlyAll * looked.start.sums.diff_squares) return std::nullopt;
  const double limit = std::ldexp(looked.start.limit, -looked.start.sums.scale);
  const std::string_view type = largest_of(limit);
  if (type.empty() && sums.stuck < static_cast<double>(kFewest)) return std::nullopt;
  return Diagnosis{DiagnosisKind::saturated,
                   fmt::format("saturated at {}{}{}: {}", number(limit), type.empty() ? "" : ", the largest ",
                               type, share(sums.stuck, detail.count))};
}

std::optional<Diagnosis> zeros(const Looked& looked, const Detail& detail) {
  const DetailSums& sums = looked.sums;
  if (sums.zeros < 1 || sums.zero_squares < kNearlyAll * looked.start.sums.diff_squares) return std::nullopt;
  return Diagnosis{DiagnosisKind::zeros,
                   fmt::format("zeros in mine where golden has none: {}", share(sums.zeros, detail.count))};
}

// Of a tensor with more than one element.
std::optional<Diagnosis> constant(const Looked& looked, const Detail& detail) {
  const PairSums& sums = looked.start.sums;
  if (sums.finite < detail.count || sums.mine.min != sums.mine.max || sums.golden.min == sums.golden.max)
    return std::nullopt;
  if (sums.mine.min == 0) return Diagnosis{DiagnosisKind::zeros, "mine is all zeros"};
  return Diagnosis{DiagnosisKind::constant, fmt::format("mine is {} throughout", number(sums.mine.min))};
}

std::optional<Diagnosis> few_elements(const Detail& detail) {
  const int64_t apart = detail.count - detail.equal;
  if (apart > kFew || detail.count < kRareAmong * apart || is_complex(detail.mine)) return std::nullopt;
  if (apart > 1)
    return Diagnosis{DiagnosisKind::elements,
                     fmt::format("only {} of {} elements differ", apart, detail.count)};
  std::string at;
  for (const int64_t index : detail.worst) at += fmt::format("{}{}", at.empty() ? "" : ", ", index);
  return Diagnosis{DiagnosisKind::elements,
                   fmt::format("only element [{}] differs (of {})", at, detail.count)};
}

}  // namespace

double honest_error(DType mine, DType golden) {
  const DTypeInfo& coarse = info(coarser(mine, golden));
  if (coarse.kind != DTypeKind::real && coarse.kind != DTypeKind::complex) return 0;
  const double step = std::ldexp(1.0, -coarse.mantissa_bits);
  // Sums of many terms in f32 and f64; what is coarser is summed in f32, and rounded a few times.
  if (coarse.mantissa_bits > 10) return 256 * step;
  return std::min(0.25, 8 * step);
}

double typical_size(std::span<const Sampled> sample) {
  std::vector<double> sizes;
  for (const Sampled& each : sample)
    if (std::isfinite(each.golden) && each.golden != 0) sizes.push_back(std::abs(each.golden));
  if (sizes.empty()) return 0;
  const auto middle = sizes.begin() + std::ssize(sizes) / 2;
  std::nth_element(sizes.begin(), middle, sizes.end());
  return *middle;
}

bool explains_all(std::span<const Diagnosis> diagnoses) {
  return std::ranges::any_of(diagnoses, [](const Diagnosis& each) {
    return each.kind != DiagnosisKind::region && each.kind != DiagnosisKind::nonfinite;
  });
}

std::vector<Diagnosis> diagnose(const Looked& looked, const Detail& detail) {
  std::vector<Diagnosis> out;
  if (detail.count == 0) return out;
  if (detail.equal == detail.count) return {{DiagnosisKind::equal, "nothing differs"}};
  if (detail.count < kFewestAtAll) return out;
  add_nonfinite(looked, detail, out);
  if (const auto plain = constant(looked, detail)) {
    out.push_back(*plain);
    return out;
  }
  const DTypeInfo& coarse = info(coarser(looked.mine, looked.golden));
  const double step = coarse.kind == DTypeKind::real ? std::ldexp(1.0, -coarse.mantissa_bits) : 0;
  const Guess guess(looked, 2 * step * typical_size(looked.sums.sample));
  if (auto whole = rounded(looked, detail)) {
    out.push_back(std::move(*whole));
    return out;
  }
  if (auto whole = fitted(looked, detail, guess)) {
    out.push_back(std::move(*whole));
    return out;
  }
  for (Diagnosis& each : regions(looked)) out.push_back(std::move(each));
  if (auto some = zeros(looked, detail))
    out.push_back(std::move(*some));
  else if (auto stuck = saturated(looked, detail))
    out.push_back(std::move(*stuck));
  if (auto few = few_elements(detail)) {
    // Where a single one is, it has said; several may share a row.
    const bool is_one = detail.count - detail.equal == 1;
    if (is_one) std::erase_if(out, [](const Diagnosis& each) { return each.kind == DiagnosisKind::region; });
    out.insert(is_one ? out.end() : out.begin(), std::move(*few));
  }
  return out;
}

}  // namespace assay::detail

#include "assay/judge/native_stated.h"

#include "assay/judge/native_defaults.h"
#include "assay/model/blocks.h"
#include "assay/model/fact_keys.h"
#include "assay/model/number_range.h"
#include "assay/support/json_tape.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

namespace assay {
namespace {

// Where nobody says how deep in the model a tensor lies, single elements may be this many times as far off as
// the whole.
constexpr double kElementsApart = 16;

// … or this many times, measured in their own golden value.
constexpr double kElementApart = 4;

// … but not by more than this share of the largest: types of few bits would let anything pass.
constexpr double kMostApart = 0.5;

// Below it f16 has no finer steps: honest results there are a few of these apart, however small they are.
constexpr double kStepOfSmallF16 = 0x1p-24;
constexpr double kFewSteps = 4;

// A dump may write the extremes of a mask as numbers.
std::optional<double> as_number(const Scalar& scalar) {
  if (const auto truth = scalar.boolean()) return *truth ? 1.0 : 0.0;
  return number_of(scalar);
}

bool is_device(const SideFacts& side) {
  return side.item != nullptr && side.item->facts != nullptr &&
         std::ranges::any_of(*side.item->facts, [](const Fact& fact) {
           const auto* const text = std::get_if<std::string>(&fact.value);
           return fact.key == "type" && text != nullptr && *text == kDeviceType;
         });
}

// Equal bits, as far as the checksum tells.
bool is_by_checksum(const Comparison& row) {
  return row.evidence == Evidence::checksum || row.evidence == Evidence::parity;
}

// A dump of checksums has nothing to hold against statistics, nor against checksums of another kind.
bool states_checksum_alone(const Stated& stated) {
  return !stated.checksum.empty() && stated.given == Given::tensor &&
         std::ranges::all_of(kStatistics,
                             [&](const StatisticName& each) { return (stated.*each.of).is_absent(); });
}

bool is_whole_type(DType dtype) {
  const DTypeKind kind = info(dtype).kind;
  return kind == DTypeKind::integer || kind == DTypeKind::natural || kind == DTypeKind::truth;
}

// Equal bits are the same numbers in types of whole numbers of one size, and where a bf16 was widened for its
// checksum.
bool may_have_equal_bits(DType a, DType b) {
  const auto is_bf16_or_f32 = [](DType dtype) { return dtype == DType::bf16 || dtype == DType::f32; };
  const bool are_whole = is_whole_type(a) && is_whole_type(b) && size_of(a) == size_of(b);
  return a == b || are_whole || (is_bf16_or_f32(a) && is_bf16_or_f32(b));
}

bool is_whole(const Scalar& scalar) { return scalar.integer() || scalar.digits(); }

bool stated_equal(const Scalar& mine, const Scalar& golden, double bound) {
  const auto m = as_number(mine), g = as_number(golden);
  if (!m || !g) return mine == golden;
  if (std::isnan(*m) || std::isnan(*g)) return std::isnan(*m) && std::isnan(*g);
  if (is_whole(mine) && is_whole(golden) && bound == 0)
    return mine == golden;  // also beyond what a double holds
  if (std::isinf(*m) || std::isinf(*g)) return *m == *g;
  return *m == *g || std::abs(*m - *g) <= bound;
}

std::string stated_text(const Scalar& scalar) {
  if (const auto real = scalar.real()) return fmt::format("{:.6g}", *real);
  if (const auto whole = scalar.integer()) return fmt::format("{}", *whole);
  if (const auto truth = scalar.boolean()) return *truth ? "true" : "false";
  if (const auto text = scalar.text()) return std::string(*text);
  if (const auto digits = scalar.digits()) return std::string(*digits);
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

// Versions of msprobe state other statistics: 26 no mean and norm of whole numbers and f64 of PyTorch, nor of
// any tensor at high precision, none of them a norm of complex numbers of PyTorch.
bool is_not_stated_by_this_msprobe(const Scalar& own, const Stated& of_own, const Scalar& other,
                                   const Stated& of_other, const Head& head) {
  return head.mine_layout == "msprobe" && head.golden_layout == "msprobe" && of_own.given == Given::tensor &&
         own.is_absent() && !other.is_absent() && number_of(of_own.max) && number_of(of_own.min) &&
         number_of(of_other.max) && number_of(of_other.min);
}

// Whole numbers and f64, which a msprobe that states their mean has cast to f32 before.
bool are_equal_as_f32(const SideFacts& mine, const SideFacts& golden, const Scalar& m, const Scalar& g) {
  const auto is_held = [](DType dtype) { return is_real(dtype) && dtype != DType::f64; };
  if (!mine.meta || !golden.meta || is_held(mine.meta->dtype) || is_held(golden.meta->dtype)) return false;
  const auto a = number_of(m), b = number_of(g);
  return a && b && static_cast<float>(*a) == static_cast<float>(*b);
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

// Without what is not finite; a statistic that nobody knows is 0.
struct FiniteSizes {
  double largest = 0, mean = 0, norm = 0;
};

FiniteSizes finite_sizes(const Stated& stated) {
  const auto size = [&](size_t which) {
    return size_of_number(finite_statistic(stated, kStatistics[which]));
  };
  return {std::max(size(kMaxAt), size(kMinAt)), size(kMeanAt), size(kNormAt)};
}

// Two programs print the mean and the norm even of whole numbers with six or seven digits. The graph engine
// prints six of any number. One program sums in f32, on two machines in two orders: a few steps of it.
double printing_error(const Head& head) {
  return head.mine_layout == "torchair_ge" ? 1e-5 : head.cross_framework ? 1e-6 : 4 * 0x1p-23;
}

struct Bounds {
  double norm, extremes, mean;
  double of(size_t statistic) const {
    return statistic == kNormAt ? norm : statistic == kMeanAt ? mean : extremes;
  }
};

Bounds bounds_of(const Comparison& row, const Head& head, const ModelPlace& place, double times = 1) {
  const Stated& g = *row.golden.stated();
  const bool is_tensor = row.mine.meta && row.golden.meta;
  // Arguments that are no tensors are exact.
  const double t =
      is_tensor ? times * relative_bound(row.mine.meta->dtype, row.golden.meta->dtype, place) : 0;
  const double digits = printing_error(head);
  const double sums = is_tensor ? std::max(t, digits) : t;
  const auto [largest, mean, norm] = finite_sizes(g);
  if (place.is_compiled && is_tensor) {
    const DType dtype = deciding_dtype_at(row.mine.meta->dtype, row.golden.meta->dtype, place);
    const double least = dtype == DType::f16 ? kFewSteps * kStepOfSmallF16 : 0;
    return {sums * norm, std::max(t * largest, least), std::max(sums * std::max(largest, mean), least)};
  }
  const double count = row.golden.meta ? static_cast<double>(row.golden.meta->shape.count()) : 1;
  // A norm may overflow where no element does.
  const double typical = norm > 0 ? norm / std::sqrt(std::max(count, 1.0)) : largest;
  const double apart = std::max(kElementsApart * t * typical, kElementApart * t * largest);
  // Where f16 ends, rounding goes by its last step, however small the numbers are.
  const bool is_f16 =
      is_tensor && deciding_dtype_at(row.mine.meta->dtype, row.golden.meta->dtype, place) == DType::f16;
  const double step = is_f16 ? kStepOfSmallF16 : 0;
  // However errors of this size lie, the mean is off by no more than a typical element times that.
  return {std::max(sums * norm, step / 2 * std::sqrt(count)),
          std::max(std::min(apart, times * kMostApart * largest), step),
          std::max(sums * std::max(typical, mean), step / 2)};
}

// The fill of a mask makes the maximum look small: it is measured by itself then.
constexpr double kLarge = 1000;

double bound_of_extreme(const Stated& g, size_t which, double bound, double t) {
  const auto max = number_of(finite_statistic(g, kStatistics[kMaxAt]));
  const auto min = number_of(finite_statistic(g, kStatistics[kMinAt]));
  if (which != kMaxAt || !max || !min || *max <= 0 || *min > -kLarge || *max * kLarge > -*min) return bound;
  const double own = *max;
  return std::min(bound, std::max(kMostApart * own, kElementsApart * t));
}

// The bound of the norm as a share of golden's, where there is one: what a picture of norms can draw.
AllowedError allowed_of_norm(const Stated& g, double bound) {
  const double norm = size_of_number(finite_statistic(g, kStatistics[kNormAt]));
  return norm > 0 ? AllowedError{static_cast<float>(bound / norm)} : AllowedError{};
}

// How far apart digits may be that an engine prints.
double printed_digits(const Stated& m, const Stated& g, size_t which, const Head& head) {
  const Scalar &mine = m.*kStatistics[which].of, &golden = g.*kStatistics[which].of;
  return mine.real() || golden.real() ? printing_error(head) * size_of_number(golden) : 0;
}

// Half a unit of the last place that a table prints: what it cut off each number.
double cut_off(const Stated& stated, const Scalar& number) {
  return stated.decimals < 0 || !number.real() ? 0 : 0.5 * std::pow(10.0, -stated.decimals);
}

double cut_off(const Stated& m, const Stated& g, size_t which) {
  return cut_off(m, m.*kStatistics[which].of) + cut_off(g, g.*kStatistics[which].of);
}

// Counts that no tensor of this shape can have.
std::optional<std::string> impossible_counts(const SideFacts& side, std::string_view which) {
  const Nonfinite* const counts = side.stated()->nonfinite;
  if (counts == nullptr || !side.meta) return std::nullopt;
  const int64_t parts = side.meta->shape.count() * components(side.meta->dtype);
  const int64_t nans = std::max<int64_t>(counts->nans, 0), infs = std::max<int64_t>(counts->infs, 0);
  if (nans <= parts && infs <= parts - nans) return std::nullopt;
  return fmt::format("{} NaN and {} infinities of {} are more than its {} elements: the dump is wrong", nans,
                     infs, which, parts);
}

// What `assay compact` wrote, and what was computed to be held against it: sums in f64 (stats.md).
bool are_exact_sums(const Comparison& row) {
  const auto is_ours = [](const SideFacts& side) {
    return side.computed == nullptr && side.item != nullptr && side.item->facts != nullptr &&
           std::ranges::any_of(*side.item->facts, [](const Fact& fact) { return fact.key == kZerosKey; });
  };
  const bool mine = is_ours(row.mine), golden = is_ours(row.golden);
  return (mine || golden) && (mine || row.mine.computed != nullptr) &&
         (golden || row.golden.computed != nullptr);
}

// The same bits as numbers of another kind are other numbers, but for zeros.
bool have_impossible_types(const Comparison& row) {
  if (!row.mine.meta || !row.golden.meta) return false;
  const Stated &m = *row.mine.stated(), &g = *row.golden.stated();
  if (m.checksum != g.checksum || !is_checksum(m.checksum) || is_xor(m.checksum)) return false;
  if (may_have_equal_bits(row.mine.meta->dtype, row.golden.meta->dtype)) return false;
  return std::ranges::any_of(kStatistics, [&](const StatisticName& each) {
    return size_of_number(finite_statistic(m, each)) > 0 && size_of_number(finite_statistic(g, each)) > 0;
  });
}

// msprobe states a tensor of one element itself as its norm. The sign is then that of the element, which the
// extremes tell as well.
bool is_norm_of_one_element(size_t which, const Comparison& row) {
  if (which != kNormAt || !row.golden.meta || row.golden.meta->shape.count() != 1) return false;
  const Stated &mine = *row.mine.stated(), &golden = *row.golden.stated();
  return number_of(mine.max) && number_of(golden.max) && number_of(mine.norm) && number_of(golden.norm);
}

// A pair of stated numbers that are not equal, in words; nothing where they agree or cannot be held against
// each other.
std::optional<std::string> differ_in(size_t which, const Comparison& row, const Head& head,
                                     const ModelPlace& place, double bound) {
  const Stated &m = *row.mine.stated(), &g = *row.golden.stated();
  const StatisticName& statistic = kStatistics[which];
  const Scalar &mine = m.*statistic.of, &golden = g.*statistic.of;
  if (is_silent(mine, row.mine, row.golden, place) || is_silent(golden, row.golden, row.mine, place))
    return std::nullopt;
  const auto leaves_out = [&](const StatisticName& each) {
    return is_not_stated_by_this_msprobe(m.*each.of, m, g.*each.of, g, head) ||
           is_not_stated_by_this_msprobe(g.*each.of, g, m.*each.of, m, head);
  };
  if (leaves_out(statistic)) return std::nullopt;
  if (leaves_out(kStatistics[kMeanAt]) && are_equal_as_f32(row.mine, row.golden, mine, golden))
    return std::nullopt;
  const auto in_words = [&](const Scalar& a, const Scalar& b, std::string_view among) {
    return fmt::format("{}{} {} of mine, {} of golden; {:.3g} apart is allowed", statistic.name, among,
                       stated_text(a), stated_text(b), bound);
  };
  const Scalar a = finite_statistic(m, statistic), b = finite_statistic(g, statistic);
  if (is_norm_of_one_element(which, row) &&
      stated_equal(Scalar(size_of_number(mine)), Scalar(size_of_number(golden)), bound))
    return std::nullopt;
  const bool is_finite = !a.is_absent() && !b.is_absent();
  const bool is_plain = a == mine && b == golden;
  if (is_finite && !stated_equal(a, b, bound))
    return in_words(a, b, is_plain ? "" : " of the finite elements");
  if (is_finite && is_plain) return std::nullopt;
  // One side may leave out what is not finite, and count it, where it makes the other NaN.
  if (leaves_out_nonfinite(m, mine, golden) || leaves_out_nonfinite(g, golden, mine)) return std::nullopt;
  if (stated_equal(mine, golden, 0)) return std::nullopt;
  return fmt::format("{} {} of mine, {} of golden", statistic.name, stated_text(mine), stated_text(golden));
}

// What two programs that print the same number may differ by.
constexpr double kPrinted = 1e-5;
// … and two versions of this one.
constexpr double kExact = 1e-9;

// As Python writes it, with all digits: two values that differ must not look alike.
std::string value_text(const Scalar& scalar) {
  if (const auto real = scalar.real()) {
    std::string text;
    append_python_float(text, *real);
    return text;
  }
  if (const auto truth = scalar.boolean()) return *truth ? "True" : "False";
  return stated_text(scalar);
}

// Of a number or text; empty: of anything else, whose text tells.
std::string_view value_kind(const Scalar& scalar) {
  if (scalar.boolean()) return "a bool";
  if (is_whole(scalar)) return "an int";
  if (scalar.real() || number_of(scalar)) return "a float";  // infinities and NaN are texts
  return scalar.text().value_or("").starts_with('\'') ? "a text" : "";
}

// Of long texts, what stands around the first difference.
std::pair<std::string, std::string> where_they_differ(std::string_view mine, std::string_view golden) {
  constexpr size_t kLong = 60, kBefore = 16;
  const auto is_inside = [](std::string_view text, size_t at) {  // of a character of UTF-8
    return at < text.size() && (static_cast<unsigned char>(text[at]) & 0xC0) == 0x80;
  };
  const auto [m, g] = std::ranges::mismatch(mine, golden);
  auto from = static_cast<size_t>(m - mine.begin());
  from = std::max(mine.size(), golden.size()) > kLong && from > kBefore ? from - kBefore : 0;
  while (from > 0 && is_inside(mine, from)) --from;
  const auto cut = [&](std::string_view text) {
    size_t end = std::min(text.size(), from + kLong);
    while (end < text.size() && is_inside(text, end)) ++end;
    return fmt::format("{}{}{}", from > 0 ? "…" : "", text.substr(from, end - from),
                       end < text.size() ? "…" : "");
  };
  return {cut(mine), cut(golden)};
}

}  // namespace

std::optional<std::string> differ_in_nonfinite(const Stated& mine, const Stated& golden) {
  if (auto counts = other_counts(mine, golden)) return counts;
  for (const StatisticName& statistic : kStatistics) {
    const Scalar &m = mine.*statistic.of, &g = golden.*statistic.of;
    const auto a = number_of(m), b = number_of(g);
    if (!a || !b || (std::isfinite(*a) && std::isfinite(*b)) || stated_equal(m, g, 0) ||
        leaves_out_nonfinite(mine, m, g) || leaves_out_nonfinite(golden, g, m))
      continue;
    return fmt::format("{} {} of mine, {} of golden", statistic.name, stated_text(m), stated_text(g));
  }
  return std::nullopt;
}

std::optional<std::string> contradiction_in(const Comparison& row, const Head& head,
                                            const ModelPlace& place) {
  if (row.basis != Basis::stated) return std::nullopt;
  for (auto wrong : {impossible_counts(row.mine, "mine"), impossible_counts(row.golden, "golden")})
    if (wrong) return wrong;
  const Stated &m = *row.mine.stated(), &g = *row.golden.stated();
  if (!is_by_checksum(row) || m.checksum != g.checksum) return std::nullopt;
  std::optional<std::string> other = other_counts(m, g);
  const Bounds bounds = bounds_of(row, head, place);
  const bool are_exact = are_exact_sums(row);
  const double exact = kExact * finite_sizes(g).largest;
  for (size_t i = 0; i < kStatistics.size() && !other; ++i) {
    const Scalar &mine = m.*kStatistics[i].of, &golden = g.*kStatistics[i].of;
    if (mine.is_absent() || golden.is_absent()) continue;
    const double printed = kPrinted * size_of_number(finite_statistic(g, kStatistics[i])) + cut_off(m, g, i);
    const bool is_extreme = i == kMaxAt || i == kMinAt;
    const double bound = are_exact
                             ? std::max(exact, kExact * size_of_number(finite_statistic(g, kStatistics[i])))
                         : is_extreme ? printed
                                      : std::max(bounds.of(i), printed);
    other = differ_in(i, row, head, place, bound);
  }
  if (!other) return std::nullopt;
  return fmt::format("the checksums are equal ({}), and yet {}: one of the dumps is wrong", m.checksum,
                     *other);
}

bool differ_by_checksum(const Comparison& row) {
  return is_by_checksum(row) && row.mine.stated()->checksum != row.golden.stated()->checksum;
}

Verdict judge_value(const Comparison& row, Level if_other) {
  const Scalar &mine = row.mine.stated()->max, &golden = row.golden.stated()->max;
  if (mine == golden)
    return row.evidence == Evidence::nothing ? Verdict{Level::ignored, std::string(kNonfiniteValue)}
                                             : Verdict{};
  const auto [m, g] = where_they_differ(value_text(mine), value_text(golden));
  std::string reason = fmt::format("{} of mine, {} of golden", m, g);
  const std::string_view kind = value_kind(mine), other = value_kind(golden);
  if (kind != other && !kind.empty() && !other.empty()) reason += fmt::format(": {} and {}", kind, other);
  return {if_other, std::move(reason)};
}

Verdict judge_stated(const Comparison& row, const Head& head, const ModelPlace& place, double times) {
  const Stated &m = *row.mine.stated(), &g = *row.golden.stated();
  if (auto wrong = contradiction_in(row, head, place)) return {Level::error, std::move(*wrong)};
  const bool is_tensor = row.mine.meta && row.golden.meta;
  const bool is_bf16 = row.golden.meta && row.golden.meta->dtype == DType::bf16;
  const bool has_checksums = !m.checksum.empty() && !g.checksum.empty();
  const bool other_bits = has_checksums && m.checksum != g.checksum;
  // PyTorch hashes the 16 bits of a bf16, MindSpore the 32 it widens them to: equal tensors, other checksums.
  // Nor do those of other types say anything of the numbers.
  const bool other_claim = is_tensor && *row.mine.meta != *row.golden.meta;
  const bool comparable = !other_claim && !(head.cross_framework && is_bf16) &&
                          (!is_tensor || are_of_one_kind(m.checksum, g.checksum));
  if (is_tensor && row.evidence == Evidence::nothing && states_checksum_alone(m) != states_checksum_alone(g))
    return {Level::ignored, std::string(kNothingStated)};
  if (is_tensor && states_checksum_alone(m) && states_checksum_alone(g) && other_bits &&
      !are_of_one_kind(m.checksum, g.checksum))
    return {Level::ignored, fmt::format("checksums of two kinds: {} and {}", m.checksum, g.checksum)};
  if (is_by_checksum(row) && !other_bits) return {};
  // Whole numbers are not rounded: other bits of one type are other numbers.
  const bool is_exact = is_tensor && *row.mine.meta == *row.golden.meta &&
                        info(row.mine.meta->dtype).kind != DTypeKind::real &&
                        info(row.mine.meta->dtype).kind != DTypeKind::complex;
  // Two dumps of checksums ask for equal bits. One that is full, and whose bits were computed, has
  // statistics.
  const bool asks_for_bits =
      head.content == Content::checksums && row.mine.computed == nullptr && row.golden.computed == nullptr;
  if ((asks_for_bits || is_by_checksum(row) || is_exact) && comparable && other_bits)
    return {Level::fail, fmt::format("checksums differ: {} and {}", m.checksum, g.checksum)};
  const bool has_numbers = number_of(m.max) || number_of(g.max) || number_of(m.norm) || number_of(g.norm);
  if (!is_tensor && !has_numbers && row.evidence == Evidence::value && same_argument(m, g)) return {};
  if (!is_tensor && is_device(row.mine) && is_device(row.golden))
    return {Level::ignored,
            fmt::format("device {} of mine, {} of golden: where a run computes is no value of it",
                        stated_text(m.max), stated_text(g.max))};
  if (!is_tensor && (m.shape != g.shape || m.dtype != g.dtype))
    return {Level::fail, fmt::format("{} {} of mine, {} {} of golden", m.dtype, m.shape, g.dtype, g.shape)};
  if (const auto counts = other_counts(m, g)) return {Level::fail, *counts};
  const Bounds bounds = bounds_of(row, head, place, times);
  const AllowedError allowed = allowed_of_norm(g, bounds.norm + cut_off(m, g, kNormAt));
  for (const size_t which : {kNormAt, kMaxAt, kMinAt, kMeanAt}) {
    double bound = bounds.of(which);
    if (is_tensor && (which == kMaxAt || which == kMinAt))
      bound = bound_of_extreme(g, which, bound,
                               relative_bound(row.mine.meta->dtype, row.golden.meta->dtype, place));
    if (place.is_compiled && (which == kMaxAt || which == kMinAt))
      bound = std::max(bound, printed_digits(m, g, which, head));
    bound += cut_off(m, g, which);
    if (auto other = differ_in(which, row, head, place, bound))
      return {.level = Level::fail, .reason = std::move(*other), .allowed = allowed};
  }
  if (!is_tensor && other_bits)  // a slice, say: only its checksum tells
    return {Level::fail, fmt::format("another {}: checksums {} and {}", m.dtype, m.checksum, g.checksum)};
  if (row.evidence == Evidence::nothing && other_claim && has_checksums && !other_bits)
    return {Level::fail,
            fmt::format("the same bits ({}) as {} {} in mine, {} {} in golden, and no statistics", m.checksum,
                        name(row.mine.meta->dtype), row.mine.meta->shape.text(), name(row.golden.meta->dtype),
                        row.golden.meta->shape.text())};
  if (row.evidence == Evidence::nothing && m.given == Given::nothing && g.given == Given::nothing)
    return {Level::ignored, "None on both sides, or an object that the dumps do not describe"};
  if (row.evidence == Evidence::nothing || (is_tensor && is_by_checksum(row)))
    return {Level::ignored, std::string(kNothingStated)};
  if (have_impossible_types(row))
    return {Level::error,
            fmt::format("the checksums are equal ({}), and so are the numbers, though {} of mine is {} of "
                        "golden: one of the dumps is wrong",
                        m.checksum, name(row.mine.meta->dtype), name(row.golden.meta->dtype))};
  return {.allowed = allowed};
}

}  // namespace assay

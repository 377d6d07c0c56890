#include "assay/metric/detail/diagnose.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <numeric>

namespace assay::detail {
namespace {

// Σd² per element: inside a region it is so many times what it is outside, and so it is against golden's own
// size. Errors that follow the sizes of golden are no region, nor are those of entries where golden is small.
constexpr double kGap = 100;
// Entries that do not stand behind each other are named one by one, up to so many.
constexpr size_t kNamed = 4;
// Dimensions that one sentence names.
constexpr size_t kMostDimensions = 3;
// Where only one entry in so many has no error, those are named; a single one, or one here and there, may
// agree by chance (the first row of a causal softmax is 1 whatever the scores are).
constexpr size_t kRare = 16;

struct Found {
  std::vector<int64_t> entries;  // rising
  bool is_all = true;            // elsewhere is nothing that the types do not explain

  // Behind each other; of what has gaps only few can be named.
  bool can_be_named() const { return is_run() || entries.size() <= kNamed; }
  bool is_run() const { return entries.back() - entries.front() + 1 == std::ssize(entries); }
};

// Whether two of them, once sorted, may be so far apart as a gap is: more cheaply told than by sorting. A gap
// of so many powers of two leaves some of them empty.
bool may_have_gap(std::span<const double> values) {
  constexpr int kEmpty = 5;
  static_assert(kGap >= 1 << (kEmpty + 1));
  std::vector<bool> powers(1 << 11);
  for (const double value : values) {
    if (!(value > 0) || !std::isnormal(value)) return true;
    powers[std::bit_cast<uint64_t>(value) >> 52] = true;
  }
  int empty = 0;  // in a row, behind the first
  bool has_any = false;
  for (const bool power : powers) {
    if (power && has_any && empty >= kEmpty) return true;
    has_any |= power;
    empty = power ? 0 : empty + 1;
  }
  return false;
}

// Which entries have nearly all of the error; nothing where no line can be drawn.
std::optional<Found> find_entries(const Profile& profile, double honest) {
  const ErrorTable& errors = profile.errors;
  const auto n = static_cast<size_t>(errors.entries());
  std::vector<double> each(n);
  for (size_t i = 0; i < n; ++i) each[i] = errors.squares[i] / static_cast<double>(profile.counts[i]);
  if (!may_have_gap(each)) return std::nullopt;
  const auto per_element = [&](size_t i) { return each[i]; };
  std::vector<size_t> order(n);
  std::iota(order.begin(), order.end(), size_t{0});
  std::ranges::stable_sort(order, [&](size_t a, size_t b) { return per_element(a) > per_element(b); });
  size_t cut = 0;
  double widest = kGap;
  for (size_t k = 1; k < n; ++k) {
    const double in = per_element(order[k - 1]), out = per_element(order[k]);
    if (!(in > 0) || in < widest * out) continue;
    cut = k;
    if (out == 0) break;
    widest = in / out;
  }
  if (cut == 0) return std::nullopt;
  double least_inside = HUGE_VAL, most_outside = 0, squares_in = 0, golden_in = 0, squares_out = 0,
         golden_out = 0;
  for (size_t k = 0; k < n; ++k) {
    const size_t i = order[k];
    const double own = errors.squares[i] == 0 ? 0 : errors.squares[i] / errors.golden[i];
    (k < cut ? squares_in : squares_out) += errors.squares[i];
    (k < cut ? golden_in : golden_out) += errors.golden[i];
    if (k < cut)
      least_inside = std::min(least_inside, own);
    else
      most_outside = std::max(most_outside, own);
  }
  // What is outside would pass, or be taken for rounding; what is inside would not.
  const double allowed = std::max(honest, kHiddenRounding);
  const bool is_explained = squares_out <= honest * honest * golden_out;
  const double bound = is_explained ? honest : allowed;
  if (!(least_inside >= kGap * most_outside) || !(squares_out <= bound * bound * golden_out) ||
      !(squares_in > bound * bound * golden_in))
    return std::nullopt;
  Found found;
  found.is_all = is_explained;
  for (size_t k = 0; k < cut; ++k) found.entries.push_back(static_cast<int64_t>(order[k]));
  std::ranges::sort(found.entries);
  return found;
}

// The same for NaN and infinities that stand against something else: all of them are there.
std::optional<Found> find_nonfinite(const Profile& profile) {
  const std::vector<int64_t>& apart = profile.errors.apart;
  Found found;
  for (size_t i = 0; i < apart.size(); ++i)
    if (apart[i] > 0) found.entries.push_back(static_cast<int64_t>(i));
  if (found.entries.empty() || found.entries.size() == apart.size()) return std::nullopt;
  return found;
}

// The entries that are not among these.
Found others(const Found& found, int64_t all) {
  Found rest;
  for (int64_t entry = 0, next = 0; entry < all; ++entry)
    if (next < std::ssize(found.entries) && found.entries[static_cast<size_t>(next)] == entry)
      ++next;
    else
      rest.entries.push_back(entry);
  return rest;
}

// "only column 5 (of 64)"; nothing where words would not tell which.
std::string describe(Found found, const DetailAxis& axis, size_t rank) {
  const int64_t all = axis.entries();
  std::string_view lead = found.is_all ? "only" : "mostly";
  if (found.is_all && (static_cast<size_t>(all) - found.entries.size()) * kRare <= static_cast<size_t>(all)) {
    lead = "all but";
    found = others(found, all);
    if (found.entries.size() < 2 || !found.is_run()) return {};
  }
  if (!found.can_be_named()) return {};
  const auto from_end = static_cast<int>(rank) - 1 - axis.dimension;
  const bool is_named = rank > 1 && from_end < 2;
  const std::string_view one = from_end == 0 ? "column" : "row";
  const std::string of = is_named ? fmt::format("(of {})", axis.size)
                                  : fmt::format("of dim {} (of {})", axis.dimension, axis.size);
  const auto which = [&](int64_t count, const std::string& numbers) {
    if (is_named) return fmt::format("{}{} {}", one, count == 1 ? "" : "s", numbers);
    return fmt::format("{} {}", count == 1 ? "index" : "indices", numbers);
  };
  if (!found.is_run()) {
    std::string numbers;
    for (const int64_t entry : found.entries) {
      const int64_t first = entry * axis.step, last = std::min(axis.size, first + axis.step) - 1;
      numbers += numbers.empty() ? "" : ", ";
      numbers += first == last ? fmt::format("{}", first) : fmt::format("{} to {}", first, last);
    }
    return fmt::format("{} {} {}", lead, which(2, numbers), of);
  }
  const int64_t first = found.entries.front() * axis.step;
  const int64_t last = std::min(axis.size, (found.entries.back() + 1) * axis.step) - 1;
  const int64_t count = last - first + 1;
  const std::string_view within = axis.step > 1 ? "within " : "";  // they were counted together
  if (count == 1) return fmt::format("{} {} {}", lead, which(1, fmt::format("{}", first)), of);
  if (axis.step == 1 && (first == 0 || last == axis.size - 1)) {
    const std::string what = is_named ? fmt::format("{}s ", one) : "";
    const std::string_view end = first == 0 ? "first" : "last";
    return fmt::format("{} the {} {} {}{}", lead, end, count, what, of);
  }
  return fmt::format("{} {}{} {}", lead, within, which(count, fmt::format("{} to {}", first, last)), of);
}

}  // namespace

std::vector<Diagnosis> regions(const Looked& looked) {
  std::vector<Diagnosis> out;
  const double honest = honest_error(looked.mine, looked.golden);
  const bool by_nonfinite = looked.start.sums.nonfinite_mismatch > 0;
  for (const Profile& profile : looked.profiles) {
    if (out.size() == kMostDimensions) break;
    auto found = by_nonfinite ? find_nonfinite(profile) : find_entries(profile, honest);
    if (!found) continue;
    std::string text = describe(std::move(*found), profile.axis, looked.shape.dims.size());
    if (!text.empty()) out.push_back({DiagnosisKind::region, std::move(text)});
  }
  return out;
}

}  // namespace assay::detail

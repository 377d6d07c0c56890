#include "assay/metric/detail/rearranged.h"

#include "assay/metric/detail/diagnose.h"
#include "assay/metric/detail/values.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <span>

namespace assay::detail {
namespace {

// A guess is dropped after the first few places where it does not hold, and believed after the last.
constexpr int64_t kFirstPlaces = 48, kPlaces = 1536;
constexpr double kHolds = 0.98;
// … among the places where the two differ as they stand; so many of these are needed.
constexpr int64_t kFewestTelling = 24;
constexpr double kInside = 0.5;  // a shift leaves so much of the tensor at least
constexpr int64_t kFewestElements = 32;
// An entry is known by so many of its elements.
constexpr int64_t kMarks = 12;
constexpr int64_t kLongest = 4096;   // a dimension along which any shift is looked for
constexpr int64_t kMostHeads = 128;  // … any order
constexpr int64_t kLeastHeads = 3;
constexpr size_t kMostCandidates = 4;

// Where the element at these coordinates of mine stands in golden: changes the coordinates; false: nowhere.
using Move = std::function<bool(std::vector<int64_t>&)>;

int64_t spread(int64_t i, uint64_t salt, int64_t range) {  // below range; the same on every machine
  uint64_t x = static_cast<uint64_t>(i) * 0x9E3779B97F4A7C15 + salt * 0xD1B54A32D192ED03;
  x = (x ^ x >> 30) * 0xBF58476D1CE4E5B9;
  x = (x ^ x >> 27) * 0x94D049BB133111EB;
  return static_cast<int64_t>((x ^ x >> 31) % static_cast<uint64_t>(range));
}

class Search {
 public:
  Search(Values& mine, Values& golden, const Looked& looked)
      : mine_(mine),
        golden_(golden),
        dims_(looked.shape.dims),
        total_(looked.shape.count()),
        near_(2 * std::max(honest_error(looked.mine, looked.golden), kHiddenRounding)),
        typical_(typical_size(looked.sums.sample)) {}

  Result<std::optional<Diagnosis>> run() {
    for (size_t i = dims_.size(); i-- > 0;) {
      ASSAY_TRY(auto found, along(i));
      if (found) return found;
    }
    for (size_t i = dims_.size(); i-- > 1;) {
      ASSAY_TRY(auto found, exchanged(i - 1));
      if (found) return found;
    }
    for (size_t i = dims_.size(); i-- > 0;) {
      ASSAY_TRY(auto found, in_other_order(i));
      if (found) return found;
    }
    return std::optional<Diagnosis>();
  }

 private:
  int64_t number_of(const std::vector<int64_t>& at) const {
    int64_t number = 0;
    for (size_t i = 0; i < dims_.size(); ++i) number = number * dims_[i] + at[i];
    return number;
  }
  std::vector<int64_t> coordinates_of(int64_t number) const {
    std::vector<int64_t> at(dims_.size());
    for (size_t i = at.size(); i-- > 0; number /= dims_[i]) at[i] = number % dims_[i];
    return at;
  }
  bool are_near(double a, double b) const {
    if (!std::isfinite(a) || !std::isfinite(b)) return a == b || (std::isnan(a) && std::isnan(b));
    return std::abs(a - b) <= near_ * std::max(std::abs(b), typical_);
  }

  // Whether the move tells where the elements of mine stand in golden; `among`: brings a place to those that
  // are looked at.
  Result<bool> holds(const Move& move, const std::function<void(std::vector<int64_t>&)>& among = {}) {
    int64_t inside = 0, telling = 0, right = 0, tried = 0;
    for (int64_t i = 0; i < kPlaces; ++i, ++tried) {
      if (i == kFirstPlaces && (static_cast<double>(right) < 0.9 * static_cast<double>(telling)))
        return false;
      if (i >= total_) break;
      std::vector<int64_t> at = coordinates_of(total_ <= kPlaces ? i : spread(i, 1, total_));
      if (among) among(at);
      const int64_t number = number_of(at);
      if (!move(at)) continue;
      ++inside;
      ASSAY_TRY(const double value, mine_.at(number));
      ASSAY_TRY(const double as_it_stands, golden_.at(number));
      ASSAY_TRY(const double there, golden_.at(number_of(at)));
      if (are_near(value, as_it_stands) && are_near(value, there)) continue;
      ++telling;
      right += are_near(value, there) ? 1 : 0;
    }
    return telling >= std::min(kFewestTelling, total_ / 2) &&
           static_cast<double>(right) >= kHolds * static_cast<double>(telling) &&
           static_cast<double>(inside) >= kInside * static_cast<double>(tried);
  }

  Result<std::optional<Diagnosis>> tried(const Move& move, DiagnosisKind kind, std::string text) {
    ASSAY_TRY(const bool is_true, holds(move));
    if (!is_true) return std::optional<Diagnosis>();
    return std::optional(Diagnosis{kind, std::move(text)});
  }

  // Shifts and fixed orders of one dimension.
  Result<std::optional<Diagnosis>> along(size_t k) {
    const int64_t n = dims_[k];
    if (n < 2) return std::optional<Diagnosis>();
    std::vector<int64_t> shifts = {1, -1, 2, -2};
    ASSAY_TRY_DO(find_shifts(k, shifts));
    for (const int64_t by : shifts) {
      if (std::abs(by) >= n) continue;
      ASSAY_TRY(const bool is_shifted, holds(shift(k, by)));
      if (!is_shifted) continue;
      ASSAY_TRY(const bool is_smooth, is_as_near_beside(k, by));
      if (is_smooth) continue;
      const Move roll = [&](std::vector<int64_t>& at) {
        at[k] = ((at[k] - by) % n + n) % n;
        return true;
      };
      // Nearly all of a long dimension is shifted and rolled alike: it is the end that tells.
      const auto at_the_end = [&](std::vector<int64_t>& at) {
        const int64_t within = at[k] % std::abs(by);
        at[k] = by > 0 ? within : n - 1 - within;
      };
      ASSAY_TRY(const bool is_rolled, holds(roll, at_the_end));
      if (is_rolled && 2 * std::abs(by) == n)
        return std::optional(
            Diagnosis{DiagnosisKind::halves_swapped, fmt::format("the two halves of dim {} are swapped", k)});
      return std::optional(
          Diagnosis{DiagnosisKind::shifted, fmt::format("{} by {} along dim {}: mine[i] = golden[i {} {}]",
                                                        is_rolled && n > 2 ? "rolled" : "shifted",
                                                        std::abs(by), k, by < 0 ? "+" : "-", std::abs(by))});
    }
    if (n % 2 == 0) {
      const int64_t half = n / 2;
      ASSAY_TRY(auto swapped,
                tried([&](std::vector<int64_t>& at) { return (at[k] = (at[k] + half) % n) >= 0; },
                      DiagnosisKind::halves_swapped, fmt::format("the two halves of dim {} are swapped", k)));
      if (swapped) return swapped;
      if (n > 2) {
        ASSAY_TRY(auto woven, tried(
                                  [&](std::vector<int64_t>& at) {
                                    at[k] = at[k] / 2 + at[k] % 2 * half;
                                    return true;
                                  },
                                  DiagnosisKind::halves_interleaved,
                                  fmt::format("the two halves of dim {} are interleaved in mine", k)));
        if (woven) return woven;
        ASSAY_TRY(auto parted, tried(
                                   [&](std::vector<int64_t>& at) {
                                     at[k] = at[k] < half ? 2 * at[k] : 2 * (at[k] - half) + 1;
                                     return true;
                                   },
                                   DiagnosisKind::halves_interleaved,
                                   fmt::format("the two halves of dim {} are interleaved in golden", k)));
        if (parted) return parted;
      }
    }
    return tried(
        [&](std::vector<int64_t>& at) {
          at[k] = n - 1 - at[k];
          return true;
        },
        DiagnosisKind::permuted, fmt::format("dim {} runs backwards in mine", k));
  }

  Move shift(size_t k, int64_t by) const {
    return [k, by, n = dims_[k]](std::vector<int64_t>& at) { return (at[k] -= by) >= 0 && at[k] < n; };
  }

  // How far golden is from mine on average, where the move leads somewhere.
  Result<double> left_by(const Move& move) {
    double sum = 0;
    int64_t inside = 0;
    for (int64_t i = 0; i < kFirstPlaces; ++i) {
      std::vector<int64_t> at = coordinates_of(spread(i, 3, total_));
      ASSAY_TRY(const double value, mine_.at(number_of(at)));
      if (!move(at)) continue;
      ASSAY_TRY(const double there, golden_.at(number_of(at)));
      if (!std::isfinite(value) || !std::isfinite(there)) continue;
      ++inside;
      sum += std::abs(value - there);
    }
    return inside > 0 ? sum / static_cast<double>(inside) : HUGE_VAL;
  }

  // In a smooth course one place is as near as the next: nobody can tell how far it was moved.
  Result<bool> is_as_near_beside(size_t k, int64_t by) {
    ASSAY_TRY(const double left, left_by(shift(k, by)));
    for (const int64_t beside : {by - 1, by + 1}) {
      ASSAY_TRY(const double other, left_by(shift(k, beside)));
      if (!(2 * left < other)) return true;
    }
    return false;
  }

  // Where an entry in the middle of mine stands in golden tells how far all of them were moved.
  Result<void> find_shifts(size_t k, std::vector<int64_t>& shifts) {
    const int64_t n = dims_[k];
    if (n < 8 || n > kLongest) return {};
    const bool has_others = total_ / n >= kMarks;
    const int64_t room = has_others ? n : n - kMarks;  // a run of elements is known by those behind it
    if (room < 1) return {};
    const int64_t middle = room / 2;
    std::vector<double> marks;
    for (int64_t i = 0; i < kMarks; ++i) {
      ASSAY_TRY(marks.emplace_back(), mine_.at(mark_of(k, middle, i, has_others)));
    }
    size_t found = 0;
    for (int64_t entry = 0; entry < room && found < kMostCandidates; ++entry) {
      int64_t same = 0;
      for (; same < kMarks; ++same) {
        ASSAY_TRY(const double value, golden_.at(mark_of(k, entry, same, has_others)));
        if (!are_near(marks[static_cast<size_t>(same)], value)) break;
      }
      if (same < kMarks || entry == middle) continue;
      ++found;
      if (const int64_t by = middle - entry; std::abs(by) > 2) shifts.push_back(by);
    }
    return {};
  }

  // The i-th element that an entry of a dimension is known by.
  int64_t mark_of(size_t k, int64_t entry, int64_t i, bool has_others) const {
    if (!has_others) {
      std::vector<int64_t> at(dims_.size());
      at[k] = entry + i;
      return number_of(at);
    }
    std::vector<int64_t> at = coordinates_of(spread(i, 2, total_));
    at[k] = entry;
    return number_of(at);
  }

  // Dimensions k and k + 1 read the other way round: the shape was kept, the order of the elements not.
  Result<std::optional<Diagnosis>> exchanged(size_t k) {
    const int64_t rows = dims_[k], columns = dims_[k + 1];
    if (rows < 2 || columns < 2) return std::optional<Diagnosis>();
    const std::string text =
        k + 2 == dims_.size()
            ? std::string("transposed: the last two dimensions stand the other way round in mine")
            : fmt::format("dims {} and {} are exchanged in mine", k, k + 1);
    const auto from_golden = [&](std::vector<int64_t>& at) {
      const int64_t number = at[k] * columns + at[k + 1];
      at[k] = number % rows;
      at[k + 1] = number / rows;
      return true;
    };
    ASSAY_TRY(auto found, tried(from_golden, DiagnosisKind::transposed, text));
    if (found || rows == columns) return found;
    const auto from_mine = [&](std::vector<int64_t>& at) {
      const int64_t number = at[k + 1] * rows + at[k];
      at[k] = number / columns;
      at[k + 1] = number % columns;
      return true;
    };
    return tried(from_mine, DiagnosisKind::transposed, text);
  }

  // Few entries (heads, experts) in any order.
  Result<std::optional<Diagnosis>> in_other_order(size_t k) {
    const int64_t n = dims_[k];
    if (n < kLeastHeads || n > kMostHeads || total_ / n < kMarks) return std::optional<Diagnosis>();
    std::vector<std::vector<double>> of_mine, of_golden;
    for (int64_t entry = 0; entry < n; ++entry) {
      std::vector<double>&mine = of_mine.emplace_back(), &golden = of_golden.emplace_back();
      for (int64_t i = 0; i < kMarks; ++i) {
        ASSAY_TRY(mine.emplace_back(), mine_.at(mark_of(k, entry, i, true)));
        ASSAY_TRY(golden.emplace_back(), golden_.at(mark_of(k, entry, i, true)));
      }
    }
    std::vector<int64_t> order;  // of mine's entries, by their numbers in golden
    std::vector<bool> is_taken(static_cast<size_t>(n));
    bool is_moved = false;
    for (int64_t entry = 0; entry < n; ++entry) {
      const auto is_same = [&](int64_t other) {
        return std::ranges::equal(of_mine[static_cast<size_t>(entry)], of_golden[static_cast<size_t>(other)],
                                  [this](double a, double b) { return are_near(a, b); });
      };
      int64_t other = is_same(entry) ? entry : 0;  // where it may have stayed, it has
      if (other != entry || entry == 0)
        while (other < n && (is_taken[static_cast<size_t>(other)] || !is_same(other))) ++other;
      if (other >= n || is_taken[static_cast<size_t>(other)]) return std::optional<Diagnosis>();
      is_taken[static_cast<size_t>(other)] = true;
      is_moved |= other != entry;
      order.push_back(other);
    }
    if (!is_moved) return std::optional<Diagnosis>();
    constexpr size_t kShown = 16;
    size_t from = 0;  // of many, those that are in their places say nothing
    while (order.size() > kShown && order[from] == static_cast<int64_t>(from)) ++from;
    const std::span<const int64_t> shown =
        std::span(order).subspan(from, std::min(kShown, order.size() - from));
    return tried(
        [&](std::vector<int64_t>& at) {
          at[k] = order[static_cast<size_t>(at[k])];
          return true;
        },
        DiagnosisKind::permuted,
        fmt::format("the entries of dim {} stand in another order: mine has {}golden's {}{}", k,
                    from > 0 ? fmt::format("from {} on ", from) : "", fmt::join(shown, ", "),
                    from + kShown < order.size() ? ", …" : ""));
  }

  Values &mine_, &golden_;
  const std::vector<int64_t>& dims_;
  const int64_t total_;
  const double near_, typical_;
};

}  // namespace

Result<std::optional<Diagnosis>> find_rearrangement(const Operand& mine, const Operand& golden,
                                                    const Looked& looked) {
  if (looked.shape.count() < kFewestElements) return std::optional<Diagnosis>();
  ASSAY_TRY(const auto of_mine, Values::open(mine));
  ASSAY_TRY(const auto of_golden, Values::open(golden));
  if (of_mine == nullptr || of_golden == nullptr) return std::optional<Diagnosis>();
  return Search(*of_mine, *of_golden, looked).run();
}

}  // namespace assay::detail

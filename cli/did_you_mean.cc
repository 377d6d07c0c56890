#include "cli/did_you_mean.h"

#include "assay/base/text.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <vector>

namespace assay::cli {
namespace {

constexpr size_t kLongest = 64;  // nobody mistypes more

// Letters to change, add, leave out, or swap with their neighbour.
size_t distance(std::string_view a, std::string_view b) {
  if (a.size() > kLongest || b.size() > kLongest) return std::numeric_limits<size_t>::max();
  std::vector<std::vector<size_t>> d(a.size() + 1, std::vector<size_t>(b.size() + 1));
  for (size_t i = 0; i <= a.size(); ++i)
    for (size_t j = 0; j <= b.size(); ++j) {
      if (i == 0 || j == 0) {
        d[i][j] = i + j;
        continue;
      }
      d[i][j] =
          std::min({d[i - 1][j] + 1, d[i][j - 1] + 1, d[i - 1][j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1)});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
        d[i][j] = std::min(d[i][j], d[i - 2][j - 2] + 1);
    }
  return d[a.size()][b.size()];
}

}  // namespace

std::string did_you_mean(std::string_view word, std::span<const std::string> known) {
  const std::string given = to_lower(word);
  const std::string* best = nullptr;
  size_t nearest = std::max<size_t>(given.size() / 3, 1) + 1;  // less than this
  for (const std::string& each : known) {
    if (each == word) return {};  // it is spelt right: something else is wrong
    const std::string lower = to_lower(each);
    // The beginning of a word, or more than it, is near however long the rest is.
    const bool is_part = given.size() >= 4 && (lower.starts_with(given) || given.starts_with(lower));
    const size_t apart = std::min(distance(given, lower), is_part ? 1 : std::numeric_limits<size_t>::max());
    if (apart >= nearest) continue;
    nearest = apart;
    best = &each;
  }
  return best == nullptr ? std::string() : fmt::format("; did you mean '{}'?", *best);
}

}  // namespace assay::cli

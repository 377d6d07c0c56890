#include "cli/did_you_mean.h"

#include "assay/base/letters.h"
#include "assay/base/text.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

namespace assay::cli {

std::string did_you_mean(std::string_view word, std::span<const std::string> known) {
  const std::string given = to_lower(word);
  const std::string* best = nullptr;
  size_t nearest = std::max<size_t>(given.size() / 3, 1) + 1;  // less than this
  for (const std::string& each : known) {
    if (each == word) return {};  // it is spelt right: something else is wrong
    const std::string lower = to_lower(each);
    // The beginning of a word, or more than it, is near however long the rest is.
    const bool is_part = given.size() >= 4 && (lower.starts_with(given) || given.starts_with(lower));
    const size_t apart =
        std::min(letters_apart(given, lower), is_part ? 1 : std::numeric_limits<size_t>::max());
    if (apart >= nearest) continue;
    nearest = apart;
    best = &each;
  }
  return best == nullptr ? std::string() : fmt::format("; did you mean '{}'?", *best);
}

}  // namespace assay::cli

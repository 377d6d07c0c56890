#include "assay/match/alike/layer_layouts.h"

#include "assay/base/text.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace assay {
namespace {

// Words before a number that is one of a series: "layers.3" and "layer_3".
constexpr std::array<std::string_view, 5> kSeries = {"layer", "block", "expert", "stage", "h"};

bool is_of_a_series(std::string_view word) {
  if (std::ranges::find(kSeries, word) != kSeries.end()) return true;
  return word.ends_with('s') && std::ranges::find(kSeries, word.substr(0, word.size() - 1)) != kSeries.end();
}

// Of tensors of other shapes, what is said of them tells.
bool lie_alike(const std::vector<Arrangement>& a, const std::vector<Arrangement>& b) {
  return std::ranges::equal(
      a, b, [](const Arrangement& x, const Arrangement& y) { return x.lies_as(y) || x.text == y.text; });
}

}  // namespace

std::string layer_pattern(std::string_view plain) {
  std::string pattern;
  for (const std::string_view word : split(plain, '.')) {
    const size_t digits = word.find_last_not_of("0123456789") + 1;
    std::string before = to_lower(word.substr(0, digits));
    while (!before.empty() && (before.back() == '_' || before.back() == '-')) before.pop_back();
    const bool is_number = digits < word.size() && (before.empty() || is_of_a_series(before));
    pattern += fmt::format("{}{}{}", pattern.empty() ? "" : ".",
                           word.substr(0, is_number ? digits : word.size()), is_number ? "#" : "");
  }
  return pattern;
}

std::string LayoutVote::objection() const {
  return fmt::format("{} of {} other layers lie otherwise", otherwise, of);
}

std::vector<LayoutVote> hold_against_each_other(std::span<const std::vector<Arrangement>* const> layouts) {
  std::vector<std::vector<size_t>> ways;
  for (size_t i = 0; i < layouts.size(); ++i) {
    const auto same =
        std::ranges::find_if(ways, [&](const auto& way) { return lie_alike(*layouts[way[0]], *layouts[i]); });
    if (same == ways.end())
      ways.push_back({i});
    else
      same->push_back(i);
  }
  std::vector<LayoutVote> votes(layouts.size());
  for (const std::vector<size_t>& way : ways) {
    const bool is_common = std::ranges::none_of(
        ways, [&](const auto& other) { return &other != &way && other.size() >= way.size(); });
    for (const size_t i : way) votes[i] = {layouts.size() - way.size(), layouts.size() - 1, is_common};
  }
  return votes;
}

}  // namespace assay

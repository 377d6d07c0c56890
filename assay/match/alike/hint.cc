#include "assay/match/alike/holders.h"
#include "assay/match/alike/meet.h"

#include <fmt/format.h>

#include <algorithm>

namespace assay {
namespace {

using Left = std::vector<std::pair<size_t, NameForm>>;

struct LikestName {
  size_t which = 0;
  double likeness = 0;
};

// "02_cast" without the running number of its file: two that were written at one place are not alike for it.
std::string_view without_number(std::string_view plain) {
  const size_t end = plain.find_first_not_of("0123456789");
  const bool is_numbered =
      end != std::string_view::npos && end > 0 && (plain[end] == '_' || plain[end] == '-');
  return is_numbered ? plain.substr(end + 1) : plain;
}

std::vector<LikestName> nearest_of(const Left& left, const Left& others) {
  std::vector<LikestName> nearest(left.size());
  for (size_t i = 0; i < left.size(); ++i)
    for (size_t j = 0; j < others.size(); ++j)
      if (const double like =
              likeness(without_number(left[i].second.plain), without_number(others[j].second.plain));
          like > nearest[i].likeness)
        nearest[i] = {j, like};
  return nearest;
}

// In a regular expression.
std::string escaped(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (std::string_view(".+*?()[]{}|^$\\").find(c) != std::string_view::npos) out += '\\';
    out += c;
  }
  return out;
}

// The flag that makes one name the other: where they differ, in whole words.
std::string rename_flag(std::string_view mine, std::string_view golden) {
  const auto is_word = [](char c) { return c != '.' && c != '/' && c != '_' && c != ':'; };
  const size_t shorter = std::min(mine.size(), golden.size());
  size_t front = 0, back = 0;
  while (front < shorter && mine[front] == golden[front]) ++front;
  while (front > 0 && is_word(mine[front - 1])) --front;
  while (back < shorter - front && mine[mine.size() - 1 - back] == golden[golden.size() - 1 - back]) ++back;
  while (back > 0 && is_word(mine[mine.size() - back])) --back;
  const std::string_view from = mine.substr(front, mine.size() - front - back);
  const std::string_view to = golden.substr(front, golden.size() - front - back);
  if (from.empty() || from.find('\'') != std::string_view::npos || to.find('\'') != std::string_view::npos)
    return "--rename 'REGEX=TEXT'";
  std::string text;
  for (const char c : to) text += c == '\\' ? std::string("\\\\") : std::string(1, c);
  return fmt::format("--rename '{}={}'", escaped(from), text);
}

}  // namespace

std::optional<std::string> hint_of_names(const PairingBuilder& builder) {
  constexpr size_t kMostLookedAt = 200, kMostShown = 3;  // of each side: a hint, not a search
  Left left[2];
  size_t count[2] = {0, 0};
  for (const Side side : {Side::mine, Side::golden}) {
    const auto which = static_cast<size_t>(side);
    left[which] = unjoined_forms(builder, side);
    count[which] = left[which].size();
    if (count[which] > kMostLookedAt) left[which].resize(kMostLookedAt);
  }
  const std::vector<LikestName> of_mine = nearest_of(left[0], left[1]),
                                of_golden = nearest_of(left[1], left[0]);
  const auto best = std::ranges::max_element(of_mine, {}, &LikestName::likeness);
  if (best == of_mine.end() || best->likeness == 0) return std::nullopt;
  const auto name = [&](Side side, size_t i) {
    return builder.name(side, left[static_cast<size_t>(side)][i].first);
  };
  const auto m = static_cast<size_t>(best - of_mine.begin());
  const std::string_view mine = name(Side::mine, m), golden = name(Side::golden, best->which);
  std::string text = fmt::format(
      "{} of mine and {} of golden found no partner; the likest names among them are '{}' and '{}'. {} pairs "
      "these, --match content what holds the same",
      count[0], count[1], mine, golden, rename_flag(mine, golden));
  for (const Side side : {Side::mine, Side::golden}) {
    const std::vector<LikestName>& nearest = side == Side::mine ? of_mine : of_golden;
    std::vector<std::string> shown;
    for (size_t i = 0; i < nearest.size() && shown.size() < kMostShown; ++i)
      shown.push_back(nearest[i].likeness == 0 ? fmt::format("'{}'", name(side, i))
                                               : fmt::format("'{}' (likest: '{}')", name(side, i),
                                                             name(other_side(side), nearest[i].which)));
    const size_t more = count[static_cast<size_t>(side)] - shown.size();
    if (nearest.size() > 1)
      text += fmt::format(". Of {}: {}{}", side == Side::mine ? "mine" : "golden", fmt::join(shown, ", "),
                          more > 0 ? fmt::format(" and {} more", more) : "");
  }
  return text;
}

}  // namespace assay

#include "assay/match/alike/holders.h"
#include "assay/match/alike/meet.h"
#include "assay/match/keyed/name.h"

#include <fmt/format.h>

#include <algorithm>

namespace assay {
namespace {

using Left = UnjoinedForms;

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

// Of names that are known, in one layer: whether they mean the same. Nothing: nobody knows.
std::optional<bool> mean_the_same(const NameForm& a, const NameForm& b) {
  const auto role = known_name_of(a.plain), other = known_name_of(b.plain);
  if (!role || !other || role->place != other->place) return std::nullopt;
  if (role->stack != other->stack && !role->stack.empty() && !other->stack.empty()) return std::nullopt;
  return role->what == other->what && role->expert == other->expert;
}

// Names that are known to mean two things are not alike, whatever words they share.
double likeness_of(const NameForm& a, const NameForm& b) {
  if (const auto same = mean_the_same(a, b)) return *same ? 1 : 0;
  return likeness(without_number(a.plain), without_number(b.plain));
}

std::vector<LikestName> nearest_of(const Left& left, const Left& others) {
  std::vector<LikestName> nearest(left.size());
  for (size_t i = 0; i < left.size(); ++i)
    for (size_t j = 0; j < others.size(); ++j)
      if (const double like = likeness_of(*left[i].second, *others[j].second); like > nearest[i].likeness)
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

bool is_word(char c) { return c != '.' && c != '/' && c != '_' && c != ':'; }

// A text with the numbers that are words of it taken out.
struct Numbered {
  std::vector<std::string_view> between, numbers;
};

Numbered numbered(std::string_view text) {
  const auto is_digit = [](char c) { return c >= '0' && c <= '9'; };
  Numbered out;
  size_t begin = 0;  // of what stands before the next number
  for (size_t at = 0; at < text.size();) {
    size_t end = at;
    while (end < text.size() && is_word(text[end])) ++end;
    const std::string_view word = text.substr(at, end - at);
    if (!word.empty() && std::ranges::all_of(word, is_digit)) {
      out.between.push_back(text.substr(begin, at - begin));
      out.numbers.push_back(word);
      begin = end;
    }
    at = end + 1;
  }
  out.between.push_back(text.substr(begin));
  return out;
}

// The flag that makes one name the other: where they differ, in whole words. Files need none.
// Numbers that both have may be any: what pairs one layer pairs the others.
std::string rename_flag(std::string_view mine, std::string_view golden) {
  constexpr size_t kMostGroups = 9;
  const bool are_in_files = begin_in_file(mine) > 0 && begin_in_file(golden) > 0;
  for (std::string_view* const name : {&mine, &golden}) {
    const std::string_view in_file = name->substr(begin_in_file(*name));
    if (are_in_files || form_of(in_file).plain == form_of(*name).plain) *name = in_file;
  }
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
  const Numbered before = numbered(from), after = numbered(to);
  const bool may_be_any = before.numbers == after.numbers && before.numbers.size() <= kMostGroups;
  const auto text_of = [](std::string_view words) {
    std::string text;
    for (const char c : words) text += c == '\\' ? std::string("\\\\") : std::string(1, c);
    return text;
  };
  if (!may_be_any) return fmt::format("--rename '{}={}'", escaped(from), text_of(to));
  std::string pattern, text;
  for (size_t i = 0; i < before.between.size(); ++i) {
    pattern += (i > 0 ? "(\\d+)" : "") + escaped(before.between[i]);
    text += (i > 0 ? fmt::format("\\{}", i) : "") + text_of(after.between[i]);
  }
  return fmt::format("--rename '{}={}'", pattern, text);
}

}  // namespace

std::optional<std::string> hint_of_names(const PairingBuilder& builder, NamesThatMeet names) {
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
      "{} of mine and {} of golden found no partner; the likest names among them are '{}' and '{}'", count[0],
      count[1], mine, golden);
  const NameForm &form = *left[0][m].second, &other = *left[1][best->which].second;
  const bool are_known = mean_the_same(form, other).value_or(false);
  if (names == NamesThatMeet::equal && (are_known || form.plain == other.plain))
    text += ", which may be a pair without --match exact";
  else if (are_known)  // another name would not make them one
    text += ", which are known to mean the same, but lie in each other in no way that is known";
  else
    text += fmt::format(". {} pairs these{}",
                        rename_flag(builder.name_as_read(Side::mine, left[0][m].first),
                                    builder.name_as_read(Side::golden, left[1][best->which].first)),
                        names == NamesThatMeet::or_content ? "" : ", --match content what holds the same");
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

#include "assay/match/alike/name_form.h"

#include "assay/base/text.h"
#include "assay/match/keyed/name.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>

namespace assay {
namespace {

bool is_digit(char c) { return c >= '0' && c <= '9'; }

// Wrappers put these anywhere into a name; the last three stand in that of a pickled module.
constexpr std::array<std::string_view, 9> kWrappers = {"module",
                                                       "_orig_mod",
                                                       "_fsdp_wrapped_module",
                                                       "_checkpoint_wrapped_module",
                                                       "_forward_module",
                                                       "base_layer",
                                                       "_modules",
                                                       "_parameters",
                                                       "_buffers"};
// … and these in front of it.
constexpr std::array<std::string_view, 9> kRoots = {"model",          "transformer",      "root",
                                                    "language_model", "base_model",       "gpt",
                                                    "state_dict",     "model_state_dict", "net"};
// Words before a number that is a rank.
constexpr std::array<std::string_view, 11> kRankWords = {
    "rank", "mp_rank", "tp_rank", "tp", "mp", "ep_rank", "ep", "device", "shard", "worker", "part"};

bool is_separator(char c) { return c == '.' || c == '/' || c == '\\'; }

std::vector<std::string_view> split_path(std::string_view text) {
  std::vector<std::string_view> words;
  size_t begin = 0;
  for (size_t i = 0; i <= text.size(); ++i)
    if (i == text.size() || is_separator(text[i])) {
      if (i > begin) words.push_back(text.substr(begin, i - begin));
      begin = i + 1;
    }
  return words;
}

int64_t number_in(std::string_view digits) {
  int64_t number = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), number);
  return error == std::errc() && end == digits.data() + digits.size() ? number : -1;
}

// "rank_3", "mp_rank_03", "tp-1": the rank; -1 for any other word.
int64_t rank_in(std::string_view word) {
  size_t digits = word.size();
  while (digits > 0 && is_digit(word[digits - 1])) --digits;
  if (digits == word.size() || digits == 0) return -1;
  std::string before = to_lower(word.substr(0, digits));
  while (!before.empty() && (before.back() == '_' || before.back() == '-')) before.pop_back();
  if (std::ranges::find(kRankWords, before) == kRankWords.end()) return -1;
  return number_in(word.substr(digits));
}

}  // namespace

std::vector<std::string_view> words_of(std::string_view plain) {
  std::vector<std::string_view> words;
  const auto kind = [](char c) {
    return is_digit(c) ? 1 : c == '.' || c == '_' || c == '-' || c == ':' ? 0 : 2;
  };
  size_t begin = 0;
  for (size_t i = 1; i <= plain.size(); ++i)
    if (i == plain.size() || kind(plain[i]) != kind(plain[begin])) {
      if (kind(plain[begin]) != 0) words.push_back(plain.substr(begin, i - begin));
      begin = i;
    }
  return words;
}

NameForm form_of(std::string_view item_name) {
  const std::string stem = stem_of(item_name);
  std::string_view file, tensor = stem;
  // A checkpoint names its parameters in full; in which of its files one lies says nothing. A short name is
  // one in its file.
  if (const size_t colon = stem.find(':'); colon != std::string::npos && stem != item_name) {
    const std::string_view in_file = std::string_view(stem).substr(colon + 1);
    const bool is_full = std::ranges::any_of(in_file, is_separator);
    if (is_full && !to_lower(item_name).starts_with(to_lower(stem.substr(0, colon)) + ".npz")) {
      file = std::string_view(stem).substr(0, colon);
      tensor = in_file;
    }
  }
  NameForm form;
  for (const std::string_view word : split_path(file))
    if (const int64_t rank = rank_in(word); rank >= 0 && form.rank < 0) form.rank = rank;
  std::vector<std::string_view> words;
  for (const std::string_view word : split_path(tensor)) {
    const int64_t rank = rank_in(word);
    if (rank >= 0 && form.rank < 0)
      form.rank = rank;
    else if (std::ranges::find(kWrappers, word) == kWrappers.end())
      words.push_back(word);
  }
  size_t first = 0;
  while (first + 1 < words.size() && std::ranges::find(kRoots, words[first]) != kRoots.end()) ++first;
  form.plain = fmt::format("{}", fmt::join(words.begin() + static_cast<ptrdiff_t>(first), words.end(), "."));
  for (size_t i = 0; i < form.plain.size();) {
    if (!is_digit(form.plain[i])) {
      form.pattern += form.plain[i++];
      continue;
    }
    size_t end = i;
    while (end < form.plain.size() && is_digit(form.plain[end])) ++end;
    form.pattern += '#';
    form.numbers.push_back(number_in(std::string_view(form.plain).substr(i, end - i)));
    i = end;
  }
  return form;
}

std::string difference_of(std::string_view mine, std::string_view golden) {
  const std::string_view longer = mine.size() > golden.size() ? mine : golden;
  const std::string_view shorter = mine.size() > golden.size() ? golden : mine;
  if (longer.ends_with(shorter))
    return fmt::format("the prefix '{}'", longer.substr(0, longer.size() - shorter.size()));
  return "prefixes, files and separators";
}

double likeness(std::string_view a, std::string_view b) {
  const std::vector<std::string_view> x = words_of(a), y = words_of(b);
  if (x.empty() || y.empty()) return a == b ? 1 : 0;
  // The longest common row of words; numbers count for more, since a layer is never another one.
  std::vector<double> row(y.size() + 1), above(y.size() + 1);
  const auto weight = [](std::string_view word) { return is_digit(word[0]) ? 2.0 : 1.0; };
  for (const std::string_view word : x) {
    std::swap(row, above);
    for (size_t j = 0; j < y.size(); ++j)
      row[j + 1] = word == y[j] ? above[j] + weight(word) : std::max(row[j], above[j + 1]);
  }
  double total = 0;
  for (const auto* words : {&x, &y})
    for (const std::string_view word : *words) total += weight(word);
  return 2 * row.back() / total;
}

}  // namespace assay

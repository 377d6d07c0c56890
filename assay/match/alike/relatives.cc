#include "assay/match/alike/relatives.h"

#include <algorithm>
#include <map>

namespace assay {
namespace {

constexpr size_t kMostSiblings = 8;

std::vector<std::string_view> dotted(std::string_view plain) {
  std::vector<std::string_view> words;
  size_t begin = 0;
  for (size_t i = 0; i <= plain.size(); ++i)
    if (i == plain.size() || plain[i] == '.') {
      words.push_back(plain.substr(begin, i - begin));
      begin = i + 1;
    }
  return words;
}

bool is_all_digits(std::string_view word) {
  return !word.empty() && std::ranges::all_of(word, [](char c) { return c >= '0' && c <= '9'; });
}

std::string with_gap(const std::vector<std::string_view>& words, size_t gap) {
  std::string text;
  for (size_t i = 0; i < words.size(); ++i) {
    text += i == gap ? std::string_view("*") : words[i];
    text += '.';
  }
  return text;
}

// Twos and threes, and all of them.
void add_subsets(const std::vector<Holder*>& siblings, std::vector<std::vector<Holder*>>& out) {
  const size_t n = siblings.size();
  if (n > 3) out.push_back(siblings);
  for (size_t a = 0; a < n; ++a)
    for (size_t b = a + 1; b < n; ++b) {
      for (size_t c = b + 1; c < n; ++c) out.push_back({siblings[a], siblings[b], siblings[c]});
      out.push_back({siblings[a], siblings[b]});
    }
}

}  // namespace

std::vector<std::vector<Holder*>> list_relatives(const std::vector<Holder*>& holders) {
  std::map<std::string, std::vector<Holder*>> siblings, series;
  std::vector<std::vector<Holder*>> relatives;
  for (Holder* holder : holders) {
    if (!holder->is_one()) relatives.push_back({holder});
    const std::vector<std::string_view> words = dotted(holder->form.plain);
    for (size_t i = 0; i < words.size(); ++i) {
      if (is_all_digits(words[i]))
        series[with_gap(words, i)].push_back(holder);
      else if (i + 2 >= words.size())  // a leaf such as "weight", or the word before it
        siblings[with_gap(words, i)].push_back(holder);
    }
  }
  for (auto& [gap, members] : series) {
    if (members.size() < 2) continue;
    // A file may list 10 before 2.
    std::ranges::stable_sort(members, {}, [](const Holder* holder) { return holder->form.numbers; });
    relatives.push_back(std::move(members));
  }
  for (const auto& [gap, members] : siblings)
    if (members.size() > 1 && members.size() <= kMostSiblings) add_subsets(members, relatives);
  return relatives;
}

}  // namespace assay

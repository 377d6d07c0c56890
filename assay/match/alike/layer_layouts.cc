#include "assay/match/alike/layer_layouts.h"

#include "assay/base/text.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace assay {
namespace {

// Words before a number that is one of a series: "layers.3", "layer_3", "l3".
constexpr std::array<std::string_view, 6> kSeries = {"layer", "block", "expert", "stage", "h", "l"};

bool is_of_a_series(std::string_view word) {
  if (std::ranges::find(kSeries, word) != kSeries.end()) return true;
  return word.ends_with('s') && std::ranges::find(kSeries, word.substr(0, word.size() - 1)) != kSeries.end();
}

std::vector<int64_t> without_ones(const Shape& shape) {
  std::vector<int64_t> dims;
  std::ranges::copy_if(shape.dims, std::back_inserter(dims), [](int64_t dim) { return dim != 1; });
  return dims;
}

bool is_digit_of_name(char c) { return c >= '0' && c <= '9'; }
bool is_joint(char c) { return c == '_' || c == '-'; }

// A number that begins at `begin` of a word between dots: all of it, or one behind a word for a series.
bool is_number_of_series(std::string_view word, size_t begin, size_t end) {
  if (begin == 0) return end == word.size();
  size_t last = begin;
  while (last > 0 && is_joint(word[last - 1])) --last;
  size_t first = last;
  while (first > 0 && !is_joint(word[first - 1]) && !is_digit_of_name(word[first - 1])) --first;
  return is_of_a_series(to_lower(word.substr(first, last - first)));
}

// Of which form a part is beside the whole: of as many dimensions, of the same ones.
std::vector<std::pair<int64_t, bool>> forms_of(const LaidOutParts& tensor) {
  const std::vector<int64_t> whole = without_ones(tensor.whole);
  std::vector<std::pair<int64_t, bool>> forms;
  for (const Shape& part : tensor.parts) {
    const std::vector<int64_t> dims = without_ones(part);
    forms.emplace_back(static_cast<int64_t>(dims.size()) - static_cast<int64_t>(whole.size()), dims == whole);
  }
  return forms;
}

// Of tensors of other shapes, what is said of them tells. Dimensions that were merged or split in one layer
// of either side leave the elements in their order, and are wrong all the same.
bool lie_alike(const LaidOutParts& a, const LaidOutParts& b) {
  const bool are_of_one_side = a.whole == b.whole || a.parts == b.parts;
  if (are_of_one_side && forms_of(a) != forms_of(b)) return false;
  return std::ranges::equal(*a.layout, *b.layout, [](const Arrangement& x, const Arrangement& y) {
    return x.lies_as(y) || x.text == y.text;
  });
}

}  // namespace

std::string layer_pattern(std::string_view plain) {
  std::string pattern;
  for (const std::string_view word : split(plain, '.')) {
    if (word.data() != plain.data()) pattern += '.';
    for (size_t i = 0; i < word.size();) {
      size_t end = i;
      while (end < word.size() && is_digit_of_name(word[end])) ++end;
      if (end == i)
        pattern += word[i++];
      else {
        // A name that is nothing but a number says by it what it is.
        const bool is_of_layer = word.size() < plain.size() ? is_number_of_series(word, i, end)
                                                            : i > 0 && is_number_of_series(word, i, end);
        if (is_of_layer)
          pattern += '#';
        else
          pattern += word.substr(i, end - i);
        i = end;
      }
    }
  }
  return pattern;
}

std::string LayoutVote::objection() const {
  return fmt::format("{} of {} other layers lie otherwise", otherwise, of);
}

std::vector<LayoutVote> hold_against_each_other(std::span<const LaidOutParts> tensors) {
  std::vector<std::vector<size_t>> ways;
  for (size_t i = 0; i < tensors.size(); ++i) {
    const auto same =
        std::ranges::find_if(ways, [&](const auto& way) { return lie_alike(tensors[way[0]], tensors[i]); });
    if (same == ways.end())
      ways.push_back({i});
    else
      same->push_back(i);
  }
  std::vector<LayoutVote> votes(tensors.size());
  for (const std::vector<size_t>& way : ways) {
    const bool is_common = std::ranges::none_of(
        ways, [&](const auto& other) { return &other != &way && other.size() >= way.size(); });
    for (const size_t i : way) votes[i] = {tensors.size() - way.size(), tensors.size() - 1, is_common};
  }
  return votes;
}

}  // namespace assay

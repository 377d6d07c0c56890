// Two lists of which one has more than the other, paired in order.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <utility>
#include <vector>

namespace assay {

// The most pairs that can be made without crossing (longest common subsequence); is_same(i, j) says whether
// these two may be one. Takes first * second steps and as much memory.
template <class IsSame>
std::vector<std::pair<size_t, size_t>> pair_in_order(size_t first, size_t second, const IsSame& is_same) {
  // How many of what is left of both can be paired, by begin.
  std::vector<uint32_t> most((first + 1) * (second + 1), 0);
  const auto at = [&](size_t i, size_t j) -> uint32_t& { return most[i * (second + 1) + j]; };
  for (size_t i = first; i-- > 0;)
    for (size_t j = second; j-- > 0;) {
      at(i, j) = std::max(at(i + 1, j), at(i, j + 1));
      if (is_same(i, j)) at(i, j) = std::max(at(i, j), at(i + 1, j + 1) + 1);
    }
  std::vector<std::pair<size_t, size_t>> pairs;
  for (size_t i = 0, j = 0; i < first && j < second;) {
    if (is_same(i, j) && at(i, j) == at(i + 1, j + 1) + 1)
      pairs.emplace_back(i++, j++);
    else if (at(i + 1, j) >= at(i, j + 1))
      ++i;
    else
      ++j;
  }
  return pairs;
}

// Indices of a longest sequence of candidates whose keys rise.
template <class Candidate, class Key>
std::vector<size_t> longest_rising(const std::vector<Candidate>& candidates, Key key) {
  constexpr size_t kNone = static_cast<size_t>(-1);
  const auto key_of = [&](size_t i) { return std::invoke(key, candidates[i]); };
  std::vector<size_t> tails;  // tails[k]: the candidate that ends the best rising sequence of k + 1
  std::vector<size_t> before(candidates.size(), kNone);
  for (size_t i = 0; i < candidates.size(); ++i) {
    const auto place = std::ranges::lower_bound(tails, key_of(i), {}, key_of);
    if (place != tails.begin()) before[i] = *(place - 1);
    if (place == tails.end())
      tails.push_back(i);
    else
      *place = i;
  }
  std::vector<size_t> chosen(tails.size());
  size_t at = tails.empty() ? kNone : tails.back();
  for (size_t k = chosen.size(); k-- > 0; at = before[at]) chosen[k] = at;
  return chosen;
}

}  // namespace assay

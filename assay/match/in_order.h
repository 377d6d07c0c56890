// Two lists of which one has more than the other, paired in order.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
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

// The same of long lists that differ in little: takes as many steps as they are long, times what only one of
// them has. Nothing where that is more than `most`. (E. Myers, An O(ND) difference algorithm, 1986.)
template <class IsSame>
std::optional<std::vector<std::pair<size_t, size_t>>> pair_much_alike(size_t first, size_t second,
                                                                      size_t most, const IsSame& is_same) {
  constexpr ptrdiff_t kNowhere = -1;
  const auto length = static_cast<ptrdiff_t>(first), other_length = static_cast<ptrdiff_t>(second);
  // How far along the first list one comes with so many left out of either, by how much further that is than
  // along the second: the diagonals -steps to steps.
  using Reach = std::vector<ptrdiff_t>;
  const auto at = [](const Reach& reach, ptrdiff_t diagonal) {
    const auto middle = static_cast<ptrdiff_t>(reach.size() / 2);
    return std::abs(diagonal) > middle ? kNowhere : reach[static_cast<size_t>(diagonal + middle)];
  };
  struct Step {
    ptrdiff_t to;           // in the first list; kNowhere: there is none
    bool leaves_out_first;  // … one of the first list, or else one of the second
  };
  const auto step = [&](const Reach& before, ptrdiff_t diagonal) -> Step {
    ptrdiff_t down = at(before, diagonal + 1), right = at(before, diagonal - 1);
    if (down != kNowhere && down - diagonal > other_length) down = kNowhere;
    right = right == kNowhere || right + 1 > length ? kNowhere : right + 1;
    return right > down ? Step{right, true} : Step{down, false};
  };
  std::vector<Reach> reached;
  for (size_t steps = 0; steps <= most; ++steps) {
    const auto furthest = static_cast<ptrdiff_t>(steps);
    Reach reach(2 * steps + 1, kNowhere);
    for (ptrdiff_t diagonal = -furthest; diagonal <= furthest; diagonal += 2) {
      ptrdiff_t i = steps == 0 ? 0 : step(reached.back(), diagonal).to;
      if (i == kNowhere) continue;
      while (i < length && i - diagonal < other_length &&
             is_same(static_cast<size_t>(i), static_cast<size_t>(i - diagonal)))
        ++i;
      reach[static_cast<size_t>(diagonal + furthest)] = i;
    }
    reached.push_back(std::move(reach));
    if (at(reached.back(), length - other_length) == length) break;
  }
  if (at(reached.back(), length - other_length) != length) return std::nullopt;
  std::vector<std::pair<size_t, size_t>> pairs;
  ptrdiff_t i = length, diagonal = length - other_length;
  const auto go_back_to = [&](ptrdiff_t begin) {
    for (; i > begin; --i) pairs.emplace_back(i - 1, i - 1 - diagonal);
  };
  for (size_t steps = reached.size() - 1; steps > 0; --steps) {
    const Step taken = step(reached[steps - 1], diagonal);
    go_back_to(taken.to);
    i -= taken.leaves_out_first ? 1 : 0;
    diagonal += taken.leaves_out_first ? -1 : 1;
  }
  go_back_to(0);
  std::ranges::reverse(pairs);
  return pairs;
}

}  // namespace assay

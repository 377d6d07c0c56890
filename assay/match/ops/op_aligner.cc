#include "assay/match/ops/op_aligner.h"

#include "assay/match/in_order.h"

#include <algorithm>
#include <map>

namespace assay {
namespace {

using Ops = std::vector<int32_t>;

class ChildAligner {
 public:
  ChildAligner(const Graph& mine, const Graph& golden) : mine_(mine), golden_(golden) {}

  std::vector<std::pair<int32_t, int32_t>> align(const Ops& mine, const Ops& golden) {
    std::vector<std::pair<int32_t, int32_t>> pairs;
    size_t first = 0;  // the common beginning needs no table
    while (first < mine.size() && first < golden.size() && is_same(mine[first], golden[first])) {
      pairs.emplace_back(mine[first], golden[first]);
      ++first;
    }
    const size_t rows = mine.size() - first, columns = golden.size() - first;
    constexpr size_t kMostCells = size_t{1} << 24;
    if (rows == 0 || columns == 0) return pairs;
    if (rows * columns > kMostCells) {
      by_type({mine.begin() + static_cast<ptrdiff_t>(first), mine.end()},
              {golden.begin() + static_cast<ptrdiff_t>(first), golden.end()}, pairs);
      return pairs;
    }
    for (const auto& [i, j] : pair_in_order(
             rows, columns, [&](size_t i, size_t j) { return is_same(mine[first + i], golden[first + j]); }))
      pairs.emplace_back(mine[first + i], golden[first + j]);
    add_alike(mine, golden, pairs);
    return pairs;
  }

 private:
  using OpPairs = std::vector<std::pair<int32_t, int32_t>>;

  // Between those of the same type, blocks of other names with much the same inside: users name their layers
  // as they like.
  void add_alike(const Ops& mine, const Ops& golden, OpPairs& pairs) {
    constexpr size_t kMostCells = size_t{1} << 16;
    OpPairs added;
    auto m = mine.begin();
    auto g = golden.begin();
    for (size_t i = 0; i <= pairs.size(); ++i) {
      const auto end_m = i == pairs.size() ? mine.end() : std::find(m, mine.end(), pairs[i].first);
      const auto end_g = i == pairs.size() ? golden.end() : std::find(g, golden.end(), pairs[i].second);
      const auto rows = static_cast<size_t>(end_m - m), columns = static_cast<size_t>(end_g - g);
      if (rows > 0 && columns > 0 && rows * columns <= kMostCells)
        for (const auto& [a, b] : pair_in_order(rows, columns, [&](size_t a, size_t b) {
               return is_alike(m[static_cast<ptrdiff_t>(a)], g[static_cast<ptrdiff_t>(b)]);
             }))
          added.emplace_back(m[static_cast<ptrdiff_t>(a)], g[static_cast<ptrdiff_t>(b)]);
      if (i == pairs.size()) break;
      m = end_m + 1;
      g = end_g + 1;
    }
    if (added.empty()) return;
    pairs.insert(pairs.end(), added.begin(), added.end());
    std::ranges::sort(pairs);
  }

  bool is_alike(int32_t a, int32_t b) {
    if (mine_.is_leaf(a) || golden_.is_leaf(b)) return false;
    const Inside &of_mine = inside(mine_, of_mine_, a), &of_golden = inside(golden_, of_golden_, b);
    if (of_mine.has_core != of_golden.has_core) return false;
    if (of_mine.types == of_golden.types) return true;
    const size_t rows = of_mine.types.size(), columns = of_golden.types.size();
    constexpr size_t kMostOfOne = 1024;
    if (rows > kMostOfOne || columns > kMostOfOne || rows * columns > left_) return false;
    left_ -= rows * columns;
    const auto common = pair_in_order(
        rows, columns, [&](size_t i, size_t j) { return of_mine.types[i] == of_golden.types[j]; });
    return common.size() * 5 >= std::max(rows, columns) * 3;
  }

  struct Inside {
    std::vector<std::string_view> types;  // of operators without others inside
    bool has_core = false;                // the attention
  };

  static const Inside& inside(const Graph& graph, std::map<int32_t, Inside>& known, int32_t block) {
    const auto [found, is_new] = known.try_emplace(block);
    if (is_new)
      for (const int32_t leaf : graph.leaves(block)) {
        found->second.types.push_back(float_type(graph.at(leaf).type));
        found->second.has_core |= graph.at(leaf).kind == OpKind::attention;
      }
    return found->second;
  }

  bool is_same(int32_t a, int32_t b) const {
    const std::string_view mine = float_type(mine_.at(a).type), golden = float_type(golden_.at(b).type);
    if (mine_.is_leaf(a) == golden_.is_leaf(b)) return mine == golden;
    return mine == golden || (mine_.is_leaf(a) ? wraps(golden, mine) : wraps(mine, golden));
  }

  // Over several ranks a projection becomes a block, which also adds up what the ranks give.
  static bool wraps(std::string_view block, std::string_view leaf) {
    return leaf == "LinearOperation" && is_atb_row_parallel(block);
  }

  void by_type(const Ops& mine, const Ops& golden, std::vector<std::pair<int32_t, int32_t>>& pairs) const {
    std::map<std::string_view, std::pair<Ops, Ops>> groups;
    for (const int32_t op : mine) groups[float_type(mine_.at(op).type)].first.push_back(op);
    for (const int32_t op : golden) groups[float_type(golden_.at(op).type)].second.push_back(op);
    for (const auto& [type, group] : groups)
      if (group.first.size() == group.second.size())
        for (size_t i = 0; i < group.first.size(); ++i) pairs.emplace_back(group.first[i], group.second[i]);
  }

  const Graph &mine_, &golden_;
  std::map<int32_t, Inside> of_mine_, of_golden_;
  size_t left_ = size_t{1} << 26;  // steps for blocks whose insides differ, whatever the graphs hold
};

}  // namespace

std::vector<std::pair<int32_t, int32_t>> align_ops(const Graph& mine_tree, const Ops& mine,
                                                   const Graph& golden_tree, const Ops& golden) {
  return ChildAligner(mine_tree, golden_tree).align(mine, golden);
}

}  // namespace assay

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
    return pairs;
  }

 private:
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
};

}  // namespace

std::vector<std::pair<int32_t, int32_t>> align_ops(const Graph& mine_tree, const Ops& mine,
                                                   const Graph& golden_tree, const Ops& golden) {
  return ChildAligner(mine_tree, golden_tree).align(mine, golden);
}

}  // namespace assay

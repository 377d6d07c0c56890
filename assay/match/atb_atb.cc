#include "assay/match/inference.h"
#include "assay/match/op_items.h"
#include "assay/match/op_sections.h"

#include <algorithm>
#include <array>
#include <set>

namespace assay {
namespace {

// The same operation in a float and in a quantised graph.
std::string_view float_type(std::string_view type) {
  constexpr std::array<std::pair<std::string_view, std::string_view>, 4> kNames = {{
      {"LinearQuantOperation", "LinearOperation"},
      {"LinearDequantOnly", "LinearNoQuant"},
      {"LinearRowParallelNoAdd", "LinearRowParallelAndAdd"},
      {"W8A8Operation", "LinearOperation"},
  }};
  for (const auto& [quantised, plain] : kNames)
    if (type == quantised) return plain;
  return type;
}

using Ops = std::vector<int32_t>;

// Pairs two lists of children in order, so that as many as possible have the same type (longest common
// subsequence). What one graph has inserted finds no partner. Lists too long for that are paired by type and
// count.
class ChildAligner {
 public:
  ChildAligner(const OpTree& mine, const OpTree& golden) : mine_(mine), golden_(golden) {}

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
    std::vector<uint32_t> longest((rows + 1) * (columns + 1), 0);
    const auto at = [&](size_t i, size_t j) -> uint32_t& { return longest[i * (columns + 1) + j]; };
    for (size_t i = rows; i-- > 0;)
      for (size_t j = columns; j-- > 0;)
        at(i, j) = is_same(mine[first + i], golden[first + j]) ? at(i + 1, j + 1) + 1
                                                               : std::max(at(i + 1, j), at(i, j + 1));
    for (size_t i = 0, j = 0; i < rows && j < columns;) {
      if (is_same(mine[first + i], golden[first + j]) && at(i, j) == at(i + 1, j + 1) + 1) {
        pairs.emplace_back(mine[first + i++], golden[first + j++]);
      } else if (at(i + 1, j) >= at(i, j + 1)) {
        ++i;
      } else {
        ++j;
      }
    }
    return pairs;
  }

 private:
  bool is_same(int32_t a, int32_t b) const {
    return float_type(mine_.at(a).type) == float_type(golden_.at(b).type);
  }

  void by_type(const Ops& mine, const Ops& golden, std::vector<std::pair<int32_t, int32_t>>& pairs) const {
    std::map<std::string_view, std::pair<Ops, Ops>> groups;
    for (const int32_t op : mine) groups[float_type(mine_.at(op).type)].first.push_back(op);
    for (const int32_t op : golden) groups[float_type(golden_.at(op).type)].second.push_back(op);
    for (const auto& [type, group] : groups)
      if (group.first.size() == group.second.size())
        for (size_t i = 0; i < group.first.size(); ++i) pairs.emplace_back(group.first[i], group.second[i]);
  }

  const OpTree &mine_, &golden_;
};

// "after/outtensor0.bin", "output_0.pth"
std::string_view tail_of(std::string_view name) {
  const size_t file = name.rfind('/');
  if (file == std::string_view::npos) return name;
  for (const std::string_view moment : {"/after", "/before"})
    if (name.substr(0, file).ends_with(moment)) return name.substr(file + 1 - moment.size());
  return name.substr(file + 1);
}

class GraphMatch {
 public:
  explicit GraphMatch(const Indexed& frames)
      : builder_(frames), mine_(builder_, Side::mine), golden_(builder_, Side::golden) {}

  Pairing run() {
    ChildAligner aligner(mine_.tree(), golden_.tree());
    std::vector<std::pair<int32_t, int32_t>> waiting = pair_roots();
    while (!waiting.empty()) {
      const auto [a, b] = waiting.back();
      waiting.pop_back();
      join_items(a, b);
      const auto children = aligner.align(mine_.tree().at(a).children, golden_.tree().at(b).children);
      waiting.insert(waiting.end(), children.begin(), children.end());
    }
    Pairing pairing = builder_.finish();
    pairing.repeats_batch = true;
    pairing.dequantises = true;
    return pairing;
  }

 private:
  std::vector<std::pair<int32_t, int32_t>> pair_roots() const {
    std::vector<std::pair<int32_t, int32_t>> pairs;
    const Ops mine = mine_.tree().roots(), golden = golden_.tree().roots();
    for (size_t i = 0; i < std::min(mine.size(), golden.size()); ++i) pairs.emplace_back(mine[i], golden[i]);
    return pairs;
  }

  void join_items(int32_t a, int32_t b) {
    const Node *const mine = mine_.node_of(a), *const golden = golden_.node_of(b);
    if (mine == nullptr || golden == nullptr) return;
    std::map<std::string_view, size_t> by_tail;
    for (const Direction direction : {Direction::input, Direction::output})
      for (const size_t position : golden_.every(b, direction))
        by_tail.emplace(tail_of(golden_.item(position).name), position);
    for (const Direction direction : {Direction::input, Direction::output})
      for (const size_t position : mine_.every(a, direction)) {
        const auto other = by_tail.find(tail_of(mine_.item(position).name));
        if (other == by_tail.end()) continue;
        const bool same = mine_.item(position).name == golden_.item(other->second).name;
        builder_.join(position, other->second, same ? Why::same_name : Why::same_role);
      }
  }

  PairingBuilder builder_;
  const OpItems mine_, golden_;
};

Result<Pairing> match_atb_atb(const Indexed& frames, const MatchOptions&) {
  if (frames.mine.empty() || frames.golden.empty()) return PairingBuilder(frames).finish();
  return GraphMatch(frames).run();
}

}  // namespace

const Matcher atb_atb_matcher = {"atb_atb", sections_by_token, match_atb_atb};

}  // namespace assay

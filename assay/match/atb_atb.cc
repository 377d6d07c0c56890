#include "assay/base/text.h"
#include "assay/match/inference.h"
#include "assay/match/op_items.h"
#include "assay/match/op_sections.h"
#include "assay/model/op_values.h"

#include <algorithm>
#include <array>
#include <map>
#include <set>
#include <unordered_map>

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

// "after", "before"
std::string_view moment_of(std::string_view name) {
  const std::string_view tail = tail_of(name);
  return tail.substr(0, tail.find('/'));
}

// One side: its items, and which of them are one value.
struct GraphSide {
  GraphSide(const PairingBuilder& builder, Side side) : items(builder, side), values(items.tree()) {}

  const OpTree& tree() const { return items.tree(); }

  // A group of operators of the graph; an operator whose kernels were dumped is none.
  bool is_block(int32_t op) const {
    const auto& children = tree().at(op).children;
    return std::any_of(children.begin(), children.end(), [&](int32_t child) {
      return !tree().at(child).inputs.empty() || !tree().at(child).outputs.empty();
    });
  }

  // Sums of products of int8 are numbers only when the operator behind has scaled them.
  int32_t with_real_output(int32_t op) const {
    constexpr int kDequantise = 18;
    const TreeOp& linear = tree().at(op);
    if (linear.parent < 0 || float_type(linear.type) == linear.type) return op;
    const auto sums = items.find(op, Direction::output, 0);
    const TensorMeta* const meta = sums ? items.item(*sums).meta : nullptr;
    if (meta == nullptr || is_real(meta->dtype)) return op;
    const Ops& siblings = tree().at(linear.parent).children;
    const auto next = std::find(siblings.begin(), siblings.end(), op) + 1;
    return next != siblings.end() && tree().at(*next).elewise_type == kDequantise ? *next : op;
  }

  // A value that an operator made, in the shape it had then: a graph is drawn once, when there are no keys
  // and values of earlier tokens yet.
  bool is_as_made(size_t position, int32_t value) const {
    const int32_t maker = value == OpValues::kUnknown ? value : values.maker(value);
    if (maker == OpValues::kUnknown) return false;
    for (const size_t made : items.all(maker, Direction::output)) {
      const TensorMeta *const a = items.item(made).meta, *const b = items.item(position).meta;
      if (values.of(maker, items.item(made).port) == value && a != nullptr && b != nullptr)
        return a->shape == b->shape;
    }
    return false;
  }

  const OpItems items;
  const OpValues values;
};

class GraphMatch {
 public:
  explicit GraphMatch(const Indexed& frames)
      : builder_(frames), mine_(builder_, Side::mine), golden_(builder_, Side::golden) {}

  Pairing run() {
    align_graphs();
    note_all_values();
    for (const auto& [a, b] : ops_)
      if (!is_block(a, b)) join_operators(a, b);
    for (const auto& [a, b] : ops_)
      if (is_block(a, b)) join_blocks(a, b);
    join_same_values();
    Pairing pairing = builder_.finish();
    attach_parts(pairing);
    pairing.repeats_batch = true;
    pairing.dequantises = true;
    pairing.graphs_differ = graphs_differ_;
    return pairing;
  }

 private:
  using OpPair = std::pair<int32_t, int32_t>;

  void align_graphs() {
    ChildAligner aligner(mine_.tree(), golden_.tree());
    const Ops mine = mine_.tree().roots(), golden = golden_.tree().roots();
    std::vector<OpPair> waiting;
    for (size_t i = 0; i < std::min(mine.size(), golden.size()); ++i)
      waiting.emplace_back(mine[i], golden[i]);
    graphs_differ_ = mine.size() != golden.size();
    while (!waiting.empty()) {
      const auto [a, b] = waiting.back();
      waiting.pop_back();
      ops_.emplace_back(a, b);
      const TreeOp &of_mine = mine_.tree().at(a), &of_golden = golden_.tree().at(b);
      const auto children = aligner.align(of_mine.children, of_golden.children);
      graphs_differ_ |= children.size() != of_mine.children.size() ||
                        children.size() != of_golden.children.size() ||
                        of_mine.inputs.size() != of_golden.inputs.size();
      waiting.insert(waiting.end(), children.begin(), children.end());
    }
  }

  bool is_block(int32_t a, int32_t b) const { return mine_.is_block(a) && golden_.is_block(b); }

  void join(size_t mine, size_t golden, int32_t value) {
    if (is_share_of_weight(mine, golden, value)) return builder_.explain(mine, Why::other_shape);
    const bool same = mine_.items.item(mine).name == golden_.items.item(golden).name;
    builder_.join(mine, golden, same ? Why::same_name : Why::same_role);
  }

  // A value of mine may be two of golden, where golden casts it in between.
  void note_all_values() {
    for (const Direction direction : {Direction::input, Direction::output})
      for (const auto& [a, b] : ops_) {
        if (is_block(a, b)) continue;
        const bool is_input = direction == Direction::input;
        const int32_t of_mine = is_input ? a : mine_.with_real_output(a);
        const int32_t of_golden = is_input ? b : golden_.with_real_output(b);
        const TreeOp& op = mine_.tree().at(of_mine);
        const size_t count = is_input ? op.inputs.size() : op.outputs.size();
        for (int index = 0; index < static_cast<int>(count); ++index) {
          const int32_t mine = mine_.values.of(of_mine, {direction, index});
          const int32_t golden = golden_.values.of(of_golden, {direction, index});
          if (golden != OpValues::kUnknown) same_values_.emplace(mine, golden);
        }
      }
  }

  // Operators that only mine has still take what others made: there a fault can be told from its cause.
  void join_same_values() {
    std::unordered_map<int32_t, std::vector<size_t>> of_golden;  // values
    for (size_t i = 0; i < golden_.tree().ops.size(); ++i) {
      const auto op = static_cast<int32_t>(i);
      for (const Direction direction : {Direction::output, Direction::input})
        for (const size_t position : golden_.items.all(op, direction)) {
          const int32_t value = golden_.values.of(op, golden_.items.item(position).port);
          if (golden_.is_as_made(position, value)) of_golden[value].push_back(position);
        }
    }
    for (size_t i = 0; i < mine_.tree().ops.size(); ++i) {
      const auto op = static_cast<int32_t>(i);
      for (const Direction direction : {Direction::input, Direction::output})
        for (const size_t position : mine_.items.all(op, direction)) {
          const int32_t value = mine_.values.of(op, mine_.items.item(position).port);
          const auto same = same_values_.lower_bound({value, INT32_MIN});
          if (same == same_values_.end() || same->first != value) continue;
          const auto found = of_golden.find(same->second);
          if (found == of_golden.end() || builder_.is_joined(Side::mine, position) ||
              !mine_.is_as_made(position, value))
            continue;
          const std::vector<size_t>& candidates = found->second;
          const auto free = std::find_if(candidates.begin(), candidates.end(), [&](size_t each) {
            return !builder_.is_joined(Side::golden, each) &&
                   golden_.items.item(each).port.direction == direction;
          });
          join(position, free == candidates.end() ? candidates.front() : *free, value);
        }
    }
  }

  bool has_more_ranks(size_t mine, size_t golden) const {
    return mine_.items.item(mine).shards().size() > golden_.items.item(golden).shards().size();
  }

  // How a weight is cut over ranks, along which dimension and in which order, no dump says.
  bool is_share_of_weight(size_t mine, size_t golden, int32_t value) const {
    if (value == OpValues::kUnknown || mine_.values.maker(value) != OpValues::kUnknown) return false;
    const TensorMeta *const a = mine_.items.item(mine).meta, *const b = golden_.items.item(golden).meta;
    return has_more_ranks(mine, golden) && a != nullptr && b != nullptr && a->shape != b->shape;
  }

  // A projection that computes several at once gives every rank its share of each: not one piece of the
  // whole. What it is split into behind tells where golden has to be cut.
  void attach_parts(Pairing& pairing) {
    std::unordered_map<int32_t, const Recipe*> by_value;
    for (const auto& [a, b] : ops_) {
      const auto given = mine_.items.find(a, Direction::input, 0);
      const auto taken = golden_.items.find(b, Direction::input, 0);
      const std::vector<size_t> pieces = golden_.items.all(b, Direction::output);
      const bool splits =
          to_lower(golden_.tree().at(b).type).find("split") != std::string::npos && !is_block(a, b);
      const int32_t value = mine_.values.of(a, {Direction::input, 0});
      if (!splits || !given || !taken || pieces.size() < 2 || value == OpValues::kUnknown) continue;
      if (!has_more_ranks(*given, *taken)) continue;
      Recipe& recipe = pairing.recipes.emplace_back();
      for (const size_t piece : pieces) recipe.parts.push_back(builder_.items(Side::golden)[piece]);
      by_value.emplace(value, &recipe);
    }
    if (by_value.empty()) return;
    for (size_t i = 0; i < mine_.tree().ops.size(); ++i)
      for (const Direction direction : {Direction::input, Direction::output})
        for (const size_t position : mine_.items.all(static_cast<int32_t>(i), direction)) {
          const auto found =
              by_value.find(mine_.values.of(static_cast<int32_t>(i), mine_.items.item(position).port));
          if (found != by_value.end()) parts_of_item_.emplace(&mine_.items.item(position), found->second);
        }
    for (PairedNode& node : pairing.nodes)
      for (Pair& pair : node.pairs) {
        if (!pair.mine || !pair.golden) continue;
        const Node& of_mine = builder_.frames(Side::mine)[0].nodes[static_cast<size_t>(pair.mine->node)];
        const auto found = parts_of_item_.find(&of_mine.items[static_cast<size_t>(pair.mine->item)]);
        if (found != parts_of_item_.end()) pair.recipe = found->second;
      }
  }

  // Tensors of the same number in two operators of one kind.
  void join_operators(int32_t a, int32_t b) {
    const int32_t result_a = mine_.with_real_output(a), result_b = golden_.with_real_output(b);
    for (const auto& [direction, of_mine, of_golden] :
         {std::tuple(Direction::input, a, b), std::tuple(Direction::output, result_a, result_b)}) {
      const TreeOp &mine = mine_.tree().at(of_mine), &golden = golden_.tree().at(of_golden);
      const bool same_kind = mine.type == golden.type;
      std::map<std::string_view, size_t> by_tail;
      for (const size_t position : golden_.items.every(of_golden, direction))
        by_tail.emplace(tail_of(golden_.items.item(position).name), position);
      for (const size_t position : mine_.items.every(of_mine, direction)) {
        // Behind the activation and the weight a quantised operator has factors where a plain one has a bias.
        if (!same_kind && direction == Direction::input && mine_.items.item(position).port.index > 1)
          continue;
        const auto other = by_tail.find(tail_of(mine_.items.item(position).name));
        if (other == by_tail.end()) continue;
        join(position, other->second, mine_.values.of(of_mine, mine_.items.item(position).port));
      }
    }
  }

  // A block of another graph takes other weights, and so counts its tensors in another way: there the values
  // inside tell. Where nothing is known of a value, as many tensors mean the same ones.
  void join_blocks(int32_t a, int32_t b) {
    for (const Direction direction : {Direction::input, Direction::output}) {
      const bool is_input = direction == Direction::input;
      const TreeOp &mine = mine_.tree().at(a), &golden = golden_.tree().at(b);
      const bool same_count = is_input ? mine.inputs.size() == golden.inputs.size()
                                       : mine.outputs.size() == golden.outputs.size();
      for (const size_t position : mine_.items.every(a, direction)) {
        const Item& item = mine_.items.item(position);
        const int32_t value = mine_.values.of(a, item.port);
        const auto known = same_values_.lower_bound({value, INT32_MIN});
        const bool is_known = known != same_values_.end() && known->first == value;
        for (const size_t other : golden_.items.every(b, direction)) {
          const Item& candidate = golden_.items.item(other);
          const bool same_moment = moment_of(item.name) == moment_of(candidate.name);
          const bool fits = is_known ? same_values_.contains({value, golden_.values.of(b, candidate.port)})
                                     : same_count && candidate.port.index == item.port.index;
          if (!same_moment || !fits) continue;
          join(position, other, value);
          break;
        }
      }
    }
  }

  PairingBuilder builder_;
  const GraphSide mine_, golden_;
  std::vector<OpPair> ops_;
  std::set<std::pair<int32_t, int32_t>> same_values_;  // of mine, of golden
  std::unordered_map<const Item*, const Recipe*> parts_of_item_;
  bool graphs_differ_ = false;
};

Result<Pairing> match_atb_atb(const Indexed& frames, const MatchOptions&) {
  if (frames.mine.empty() || frames.golden.empty()) return PairingBuilder(frames).finish();
  return GraphMatch(frames).run();
}

}  // namespace

const Matcher atb_atb_matcher = {"atb_atb", sections_by_token, match_atb_atb};

}  // namespace assay

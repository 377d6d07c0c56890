#include "assay/match/ops/inference.h"
#include "assay/match/ops/op_aligner.h"
#include "assay/match/ops/op_items.h"
#include "assay/match/ops/op_sections.h"
#include "assay/match/ops/quantised.h"
#include "assay/model/share_fit.h"

#include <algorithm>
#include <map>
#include <set>
#include <unordered_map>

namespace assay {
namespace {

using Ops = std::vector<int32_t>;

// Which of the tensors of its operator it is: "outtensor0.bin" after it, "output_0.pth".
std::pair<Phase, std::string_view> file_of(const Item& item) {
  return {item.port.phase, item.name.substr(item.name.rfind('/') + 1)};
}

// One side: its graph, and the items of it.
struct GraphSide {
  GraphSide(const PairingBuilder& builder, Side side) : items(builder, side) {}

  const Graph& tree() const { return items.tree(); }

  // A group of operators of the graph; an operator whose kernels were dumped is none.
  bool is_block(int32_t op) const {
    const auto& children = tree().at(op).children;
    return std::any_of(children.begin(), children.end(), [&](int32_t child) {
      return !tree().at(child).inputs.empty() || !tree().at(child).outputs.empty();
    });
  }

  // The only one of a block that is there for it; anything else is given back.
  int32_t projection_in(int32_t op) const {
    int32_t found = op;
    for (const int32_t leaf : tree().leaves(op))
      if (tree().at(leaf).kind == OpKind::product) {
        if (found != op) return op;
        found = leaf;
      }
    return found;
  }

  // Sums of products of int8 are numbers only when the operator behind has scaled them.
  int32_t with_real_output(int32_t op) const {
    const GraphOp& linear = tree().at(op);
    if (linear.parent < 0 || float_type(linear.type) == linear.type) return op;
    const auto sums = items.find(op, Direction::output, 0);
    const TensorMeta* const meta = sums ? items.item(*sums).meta : nullptr;
    if (meta == nullptr || is_real(meta->dtype)) return op;
    const Ops& siblings = tree().at(linear.parent).children;
    const auto next = std::find(siblings.begin(), siblings.end(), op) + 1;
    return next != siblings.end() && tree().at(*next).kind == OpKind::dequantise ? *next : op;
  }

  // A value that an operator made, in the shape it had then: a graph is drawn once, when there are no keys
  // and values of earlier tokens yet.
  bool is_as_made(size_t position, int32_t value) const {
    const int32_t producer = tree().producer_of(value);
    if (producer == Graph::kNone) return false;
    for (const size_t made : items.all(producer, Direction::output)) {
      const TensorMeta *const a = items.item(made).meta, *const b = items.item(position).meta;
      if (tree().value_of(producer, items.item(made).port) == value && a != nullptr && b != nullptr)
        return a->shape == b->shape;
    }
    return false;
  }

  const OpItems items;
};

class GraphMatch {
 public:
  explicit GraphMatch(const Indexed& frames)
      : builder_(frames),
        mine_(builder_, Side::mine),
        golden_(builder_, Side::golden),
        dequantiser_(frames) {}

  Pairing run() {
    align_graphs();
    note_all_values();
    find_fused();
    for (const auto& [a, b] : ops_)
      if (!is_block(a, b)) join_operators(a, b);
    for (const auto& [a, b] : ops_)
      if (is_block(a, b)) join_blocks(a, b);
    for (const auto& [a, b] : ops_) join_wrapped(a, b);
    for (const auto& [a, b] : ops_) join_parameters(a, b);
    join_same_values();
    Pairing pairing = builder_.finish();
    pairing.repeats_batch = true;
    pairing.dequantises = true;
    pairing.graphs_differ = graphs_differ_;
    return pairing;
  }

 private:
  using OpPair = std::pair<int32_t, int32_t>;

  void align_graphs() {
    const Ops mine = mine_.tree().roots(), golden = golden_.tree().roots();
    std::vector<OpPair> waiting;
    for (size_t i = 0; i < std::min(mine.size(), golden.size()); ++i)
      waiting.emplace_back(mine[i], golden[i]);
    graphs_differ_ = mine.size() != golden.size();
    while (!waiting.empty()) {
      const auto [a, b] = waiting.back();
      waiting.pop_back();
      ops_.emplace_back(a, b);
      const GraphOp &of_mine = mine_.tree().at(a), &of_golden = golden_.tree().at(b);
      const auto children = align_ops(mine_.tree(), of_mine.children, golden_.tree(), of_golden.children);
      graphs_differ_ |= children.size() != of_mine.children.size() ||
                        children.size() != of_golden.children.size() ||
                        of_mine.inputs.size() != of_golden.inputs.size();
      waiting.insert(waiting.end(), children.begin(), children.end());
    }
  }

  bool is_block(int32_t a, int32_t b) const { return mine_.is_block(a) && golden_.is_block(b); }

  void join(size_t mine, size_t golden, int32_t value) {
    PairPlans plans;
    dequantiser_.plan(builder_.items(Side::mine)[mine], builder_.items(Side::golden)[golden], plans);
    if (is_share_of_weight(mine, golden, value)) {
      if (!plan_share_of_weight(mine, golden, value, plans)) return builder_.explain(mine, Why::other_shape);
    } else if (ranks_of(Side::mine, mine) != ranks_of(Side::golden, golden)) {
      plan_fused(mine, golden, value, plans);
      plan_collectives(mine, golden, value, plans);
    }
    const bool same = mine_.items.item(mine).name == golden_.items.item(golden).name;
    builder_.join(mine, golden, same ? Why::same_name : Why::same_role, std::move(plans));
  }

  // A value of mine may be two of golden, where golden casts it in between.
  void note_all_values() {
    for (const Direction direction : {Direction::input, Direction::output})
      for (const auto& [a, b] : ops_) {
        if (is_block(a, b)) continue;
        const bool is_input = direction == Direction::input;
        const int32_t of_mine = is_input ? a : mine_.with_real_output(a);
        const int32_t of_golden = is_input ? b : golden_.with_real_output(b);
        const GraphOp& op = mine_.tree().at(of_mine);
        const size_t count = is_input ? op.inputs.size() : op.outputs.size();
        for (int index = 0; index < static_cast<int>(count); ++index) {
          const int32_t mine = mine_.tree().value_of(of_mine, {direction, index});
          const int32_t golden = golden_.tree().value_of(of_golden, {direction, index});
          if (golden != Graph::kNone) same_values_.emplace(mine, golden);
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
          const int32_t value = golden_.tree().value_of(op, golden_.items.item(position).port);
          if (golden_.is_as_made(position, value)) of_golden[value].push_back(position);
        }
    }
    for (size_t i = 0; i < mine_.tree().ops.size(); ++i) {
      const auto op = static_cast<int32_t>(i);
      for (const Direction direction : {Direction::input, Direction::output})
        for (const size_t position : mine_.items.all(op, direction)) {
          const int32_t value = mine_.tree().value_of(op, mine_.items.item(position).port);
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

  size_t ranks_of(Side side, size_t position) const {
    return std::max<size_t>(1, builder_.item(side, position).shards().size());
  }

  // The side of fewer ranks, which the other side may have shares of; nothing where each rank holds all of
  // it.
  std::optional<Side> whole_side(size_t mine, size_t golden) const {
    const size_t of_mine = ranks_of(Side::mine, mine), of_golden = ranks_of(Side::golden, golden);
    const TensorMeta *const a = mine_.items.item(mine).meta, *const b = golden_.items.item(golden).meta;
    if (of_mine == of_golden || a == nullptr || b == nullptr || a->shape == b->shape) return std::nullopt;
    return of_mine < of_golden ? Side::mine : Side::golden;
  }

  bool is_share_of_weight(size_t mine, size_t golden, int32_t value) const {
    if (value == Graph::kNone || mine_.tree().producer_of(value) != Graph::kNone) return false;
    const TensorMeta *const a = mine_.items.item(mine).meta, *const b = golden_.items.item(golden).meta;
    return ranks_of(Side::mine, mine) != ranks_of(Side::golden, golden) && a != nullptr && b != nullptr &&
           a->shape != b->shape;
  }

  // What comes from outside the graph is shared out along the dimension that differs; of a projection that
  // computes several at once every rank has its share of each. False where the shapes do not tell how.
  bool plan_share_of_weight(size_t mine, size_t golden, int32_t value, PairPlans& plans) const {
    const auto side = whole_side(mine, golden);
    if (!side) return false;
    const size_t position = *side == Side::mine ? mine : golden;
    const Shape& whole = builder_.item(*side, position).meta->shape;
    const Shape& other = builder_.item(other_side(*side), *side == Side::mine ? golden : mine).meta->shape;
    ShareRules rules;
    std::vector<int64_t> widths;
    if (const auto projection = projections_.find(value); projection != projections_.end()) {
      const auto& [a, b] = projection->second;
      const bool rows_of_mine = mine_.tree().at(a).has_rows_out;
      const bool rows_of_golden = golden_.tree().at(b).has_rows_out;
      rules.may_be_transposed = true;
      rules.is_transposed = rows_of_mine != rows_of_golden;
      rules.out_dimension = (*side == Side::mine ? rows_of_mine : rows_of_golden) ? 0 : 1;
      const auto fused =
          fused_.find(mine_.tree().value_of(mine_.with_real_output(a), {Direction::output, 0}));
      if (fused != fused_.end()) widths = widths_of(*side, fused->second);
    }
    const auto dimension = static_cast<int64_t>(rules.out_dimension);
    if (!widths.empty() && !are_all_of(widths, whole, dimension)) return false;
    std::vector<Shape> pieces(std::max<size_t>(1, widths.size()), whole);
    for (size_t i = 0; i < widths.size(); ++i)
      pieces[i].dims[std::min(rules.out_dimension, whole.dims.size() - 1)] = widths[i];
    const auto of_mine = static_cast<int64_t>(ranks_of(Side::mine, mine)),
               of_golden = static_cast<int64_t>(ranks_of(Side::golden, golden));
    if (!fit_shares(pieces, *side == Side::mine ? of_mine : of_golden, other,
                    *side == Side::mine ? of_golden : of_mine, rules))
      return false;
    Plan& plan = plan_to_add_to(*side, position, plans);
    if (!widths.empty()) plan.cut_in_pieces(dimension, widths);
    plan.add(PlanOp::weight, {rules.may_be_transposed, rules.is_transposed});
    return true;
  }

  Plan& plan_to_add_to(Side side, size_t position, PairPlans& plans) const {
    Plan& plan = plans.of(side);
    if (plan.is_empty()) plan = as_it_stands(side, builder_.items(side)[position]);
    return plan;
  }

  // Of what a projection gives that computes several at once every rank has its share of each.
  void plan_fused(size_t mine, size_t golden, int32_t value, PairPlans& plans) const {
    const auto fused = fused_.find(value);
    const auto side = fused == fused_.end() ? std::nullopt : whole_side(mine, golden);
    if (!side) return;
    const size_t position = *side == Side::mine ? mine : golden;
    const std::vector<int64_t> widths = widths_of(*side, fused->second);
    if (!are_all_of(widths, builder_.item(*side, position).meta->shape, kLastDimension)) return;
    plan_to_add_to(*side, position, plans).cut_in_pieces(kLastDimension, widths);
  }

  // What is handed to an all-reduce are terms, which depend on how many ranks there are, as does the stack
  // that an all-gather gives.
  void plan_collectives(size_t mine, size_t golden, int32_t value, PairPlans& plans) const {
    if (value == Graph::kNone) return;
    const int32_t producer = mine_.tree().producer_of(value);
    const bool is_gathered = producer != Graph::kNone && mine_.tree().at(producer).kind == OpKind::collective;
    const bool is_term =
        std::ranges::any_of(mine_.tree().values[static_cast<size_t>(value)].consumers, [&](int32_t op) {
          return mine_.tree().is_leaf(op) && mine_.tree().at(op).kind == OpKind::all_reduce;
        });
    for (const Side side : {Side::mine, Side::golden}) {
      const size_t position = side == Side::mine ? mine : golden;
      const auto ranks = static_cast<int64_t>(ranks_of(side, position));
      const TensorMeta* const meta = builder_.item(side, position).meta;
      if (ranks < 2 || meta == nullptr) continue;
      const bool is_stack = meta->shape.dims.size() > 2 && meta->shape.dims.front() == ranks;
      if (is_gathered && is_stack) plan_to_add_to(side, position, plans).add(PlanOp::unstack);
      if (is_term) plan_to_add_to(side, position, plans).add(PlanOp::add_ranks);
    }
  }

  // A projection that computes several at once gives every rank its share of each: not one piece of the
  // whole. What it is split into behind tells where the whole has to be cut.
  void find_fused() {
    for (const auto& [a, b] : ops_) {
      if (is_block(a, b)) continue;
      const OpKind kind = golden_.tree().at(b).kind;
      if (kind == OpKind::product)
        note_projection(mine_.is_block(a) ? mine_.projection_in(a) : a,
                        golden_.is_block(b) ? golden_.projection_in(b) : b);
      const int32_t value = mine_.tree().value_of(a, {Direction::input, 0});
      const bool splits = kind == OpKind::split || is_gate(a, b, kind);
      if (splits && value != Graph::kNone) fused_.emplace(value, OpPair(a, b));
    }
  }

  void note_projection(int32_t a, int32_t b) {
    for (int index = 1; index < static_cast<int>(mine_.tree().at(a).inputs.size()); ++index)
      projections_.emplace(mine_.tree().value_of(a, {Direction::input, index}), OpPair(a, b));
  }

  // An activation that takes two projections at once gives half as much.
  bool is_gate(int32_t a, int32_t b, OpKind kind) const {
    return kind == OpKind::activation && gives_half(mine_, a) && gives_half(golden_, b);
  }
  static bool gives_half(const GraphSide& side, int32_t op) {
    const auto given = side.items.find(op, Direction::input, 0),
               result = side.items.find(op, Direction::output, 0);
    const TensorMeta* const from = given ? side.items.item(*given).meta : nullptr;
    const TensorMeta* const to = result ? side.items.item(*result).meta : nullptr;
    return from != nullptr && to != nullptr && !from->shape.dims.empty() && !to->shape.dims.empty() &&
           to->shape.dims.back() > 0 && from->shape.dims.back() / 2 == to->shape.dims.back() &&
           from->shape.dims.back() % 2 == 0;
  }

  // How wide the results of a split are, or the two halves that an activation takes.
  std::vector<int64_t> widths_of(Side side, const OpPair& split) const {
    const GraphSide& graph = side == Side::mine ? mine_ : golden_;
    std::vector<int64_t> widths;
    for (const size_t piece :
         graph.items.all(side == Side::mine ? split.first : split.second, Direction::output)) {
      const TensorMeta* const meta = graph.items.item(piece).meta;
      if (meta == nullptr || meta->shape.dims.empty()) return {};
      widths.push_back(meta->shape.dims.back());
    }
    if (widths.size() == 1) widths.push_back(widths[0]);
    return widths;
  }

  // A projection in a block of its own takes what the plain one takes; it gives the sum of one rank alone.
  void join_wrapped(int32_t a, int32_t b) {
    if (mine_.is_block(a) == golden_.is_block(b)) return;
    const int32_t inner_a = mine_.projection_in(a), inner_b = golden_.projection_in(b);
    for (const int index : {0, 1}) {
      const auto position = mine_.items.find(inner_a, Direction::input, index);
      const auto other = golden_.items.find(inner_b, Direction::input, index);
      if (!position || !other) continue;
      if (builder_.is_joined(Side::mine, *position) && builder_.is_joined(Side::golden, *other)) continue;
      join(*position, *other, mine_.tree().value_of(inner_a, {Direction::input, index}));
    }
  }

  // Torch hooks dump the parameters of modules beside what these take and give.
  void join_parameters(int32_t a, int32_t b) {
    for (const size_t position : mine_.items.every(a, Direction::parameter))
      for (const size_t other : golden_.items.every(b, Direction::parameter))
        if (file_of(mine_.items.item(position)) == file_of(golden_.items.item(other)))
          join(position, other, Graph::kNone);
  }

  // Tensors of the same number in two operators of one kind.
  void join_operators(int32_t a, int32_t b) {
    const int32_t result_a = mine_.with_real_output(a), result_b = golden_.with_real_output(b);
    for (const auto& [direction, of_mine, of_golden] :
         {std::tuple(Direction::input, a, b), std::tuple(Direction::output, result_a, result_b)}) {
      const GraphOp &mine = mine_.tree().at(of_mine), &golden = golden_.tree().at(of_golden);
      const bool same_kind = mine.type == golden.type;
      std::map<std::pair<Phase, std::string_view>, size_t> by_file;
      for (const size_t position : golden_.items.every(of_golden, direction))
        by_file.emplace(file_of(golden_.items.item(position)), position);
      for (const size_t position : mine_.items.every(of_mine, direction)) {
        // Behind the activation and the weight a quantised operator has factors where a plain one has a bias.
        if (!same_kind && direction == Direction::input && mine_.items.item(position).port.index > 1)
          continue;
        const auto other = by_file.find(file_of(mine_.items.item(position)));
        if (other == by_file.end()) continue;
        join(position, other->second, mine_.tree().value_of(of_mine, mine_.items.item(position).port));
      }
    }
  }

  // A block of another graph takes other weights, and so counts its tensors in another way: there the values
  // inside tell. Where nothing is known of a value, as many tensors mean the same ones.
  void join_blocks(int32_t a, int32_t b) {
    for (const Direction direction : {Direction::input, Direction::output}) {
      const bool is_input = direction == Direction::input;
      const GraphOp &mine = mine_.tree().at(a), &golden = golden_.tree().at(b);
      const bool same_count = is_input ? mine.inputs.size() == golden.inputs.size()
                                       : mine.outputs.size() == golden.outputs.size();
      for (const size_t position : mine_.items.every(a, direction)) {
        const Item& item = mine_.items.item(position);
        const int32_t value = mine_.tree().value_of(a, item.port);
        const auto known = same_values_.lower_bound({value, INT32_MIN});
        const bool is_known = known != same_values_.end() && known->first == value;
        const auto join_first = [&](const auto& fits) {
          for (const size_t other : golden_.items.every(b, direction)) {
            const Item& candidate = golden_.items.item(other);
            if (item.port.phase != candidate.port.phase || !fits(candidate)) continue;
            join(position, other, value);
            return true;
          }
          return false;
        };
        const bool joined =
            is_known && join_first([&](const Item& candidate) {
              return same_values_.contains({value, golden_.tree().value_of(b, candidate.port)});
            });
        // What a block gives may still be worked on in golden: gathered from the ranks.
        if (!joined && same_count && (!is_known || !is_input) &&
            join_first([&](const Item& candidate) { return candidate.port.index == item.port.index; }) &&
            value != Graph::kNone && !is_known)
          same_values_.emplace(value, golden_.tree().value_of(b, item.port));
      }
    }
  }

  PairingBuilder builder_;
  const GraphSide mine_, golden_;
  std::vector<OpPair> ops_;
  std::set<std::pair<int32_t, int32_t>> same_values_;  // of mine, of golden
  std::map<int32_t, OpPair> projections_;              // by value of mine that is their weight or bias
  std::map<int32_t, OpPair> fused_;                    // by value of mine: what takes it apart
  const Dequantiser dequantiser_;
  bool graphs_differ_ = false;
};

Result<Pairing> match_atb_atb(const Indexed& frames, const MatchOptions&) {
  if (frames.mine.empty() || frames.golden.empty()) return PairingBuilder(frames).finish();
  return GraphMatch(frames).run();
}

}  // namespace

const Matcher atb_atb_matcher = {"atb_atb", sections_by_token, match_atb_atb};

}  // namespace assay

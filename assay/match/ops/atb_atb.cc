#include "assay/match/ops/inference.h"
#include "assay/match/ops/op_aligner.h"
#include "assay/match/ops/op_items.h"
#include "assay/match/ops/op_sections.h"

#include <algorithm>
#include <map>
#include <set>
#include <unordered_map>

namespace assay {
namespace {

using Ops = std::vector<int32_t>;

constexpr size_t kLastDimension = SIZE_MAX;  // whatever number it has

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
      : builder_(frames), mine_(builder_, Side::mine), golden_(builder_, Side::golden) {}

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
    attach_recipes(pairing);
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
    if (is_share_of_weight(mine, golden, value)) {
      const auto share = share_of_weight(mine, golden, value);
      if (!share) return builder_.explain(mine, Why::other_shape);
      shares_.emplace(std::pair(mine, golden), *share);
    }
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

  // The side of one rank where the other has several, and so perhaps shares of what this one holds.
  std::optional<Side> whole_side(size_t mine, size_t golden) const {
    const size_t of_mine = ranks_of(Side::mine, mine), of_golden = ranks_of(Side::golden, golden);
    if (of_mine == of_golden || std::min(of_mine, of_golden) > 1) return std::nullopt;
    const TensorMeta *const a = mine_.items.item(mine).meta, *const b = golden_.items.item(golden).meta;
    if (a != nullptr && b != nullptr && a->shape == b->shape)
      return std::nullopt;  // each rank holds all of it
    return of_mine < of_golden ? Side::mine : Side::golden;
  }

  bool is_share_of_weight(size_t mine, size_t golden, int32_t value) const {
    if (value == Graph::kNone || mine_.tree().producer_of(value) != Graph::kNone) return false;
    const TensorMeta *const a = mine_.items.item(mine).meta, *const b = golden_.items.item(golden).meta;
    return ranks_of(Side::mine, mine) != ranks_of(Side::golden, golden) && a != nullptr && b != nullptr &&
           a->shape != b->shape;
  }

  // What comes from outside the graph is shared out along the dimension that differs; of a projection that
  // computes several at once every rank has its share of each. Nothing where the shapes do not tell how.
  std::optional<Recipe> share_of_weight(size_t mine, size_t golden, int32_t value) const {
    const auto side = whole_side(mine, golden);
    if (!side) return std::nullopt;
    Recipe recipe;
    recipe.parts_of = *side;
    SharedWeight& share = recipe.weight.emplace();
    const auto projection = projections_.find(value);
    share.is_projection = projection != projections_.end();
    if (share.is_projection) {
      const auto& [a, b] = projection->second;
      const bool rows_of_mine = mine_.tree().at(a).has_rows_out;
      const bool rows_of_golden = golden_.tree().at(b).has_rows_out;
      share.is_transposed = rows_of_mine != rows_of_golden;
      share.out_dimension = (*side == Side::mine ? rows_of_mine : rows_of_golden) ? 0 : 1;
      const auto fused =
          fused_.find(mine_.tree().value_of(mine_.with_real_output(a), {Direction::output, 0}));
      if (fused != fused_.end()) share.cuts = widths_of(*side, fused->second);
    }
    const TensorMeta& of_mine = *mine_.items.item(mine).meta;
    const TensorMeta& of_golden = *golden_.items.item(golden).meta;
    const bool mine_is_whole = *side == Side::mine;
    const auto pieces = cut_shapes((mine_is_whole ? of_mine : of_golden).shape, share);
    const size_t ranks = mine_is_whole ? ranks_of(Side::golden, golden) : ranks_of(Side::mine, mine);
    if (!pieces ||
        !fit_share(*pieces, (mine_is_whole ? of_golden : of_mine).shape, static_cast<int64_t>(ranks), share))
      return std::nullopt;
    return recipe;
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

  void attach_recipes(Pairing& pairing) {
    const std::unordered_map<int32_t, const Recipe*> by_value = recipes_of_fused(pairing);
    std::map<std::pair<const Item*, const Item*>, const Recipe*> by_items;
    for (auto& [positions, recipe] : shares_)
      by_items.emplace(std::pair(&mine_.items.item(positions.first), &golden_.items.item(positions.second)),
                       &pairing.recipes.emplace_back(std::move(recipe)));
    if (by_value.empty() && by_items.empty()) return;
    std::unordered_map<const Item*, const Recipe*> by_item;  // of mine
    for (size_t i = 0; i < mine_.tree().ops.size(); ++i)
      for (const Direction direction : {Direction::input, Direction::output})
        for (const size_t position : mine_.items.all(static_cast<int32_t>(i), direction)) {
          const auto found =
              by_value.find(mine_.tree().value_of(static_cast<int32_t>(i), mine_.items.item(position).port));
          if (found != by_value.end()) by_item.emplace(&mine_.items.item(position), found->second);
        }
    for (PairedNode& node : pairing.nodes)
      for (Pair& pair : node.pairs) {
        if (!pair.mine || !pair.golden) continue;
        const Item* const mine = &builder_.item(Side::mine, *pair.mine);
        const Item* const golden = &builder_.item(Side::golden, *pair.golden);
        if (const auto fused = by_item.find(mine); fused != by_item.end()) pair.recipe = fused->second;
        if (const auto share = by_items.find({mine, golden}); share != by_items.end())
          pair.recipe = share->second;
      }
  }

  // Of what projections give that compute several at once; by value of mine.
  std::unordered_map<int32_t, const Recipe*> recipes_of_fused(Pairing& pairing) const {
    std::unordered_map<int32_t, const Recipe*> by_value;
    for (const auto& [value, split] : fused_) {
      const auto& [a, b] = split;
      const auto given = mine_.items.find(a, Direction::input, 0);
      const auto taken = golden_.items.find(b, Direction::input, 0);
      const auto side = given && taken ? whole_side(*given, *taken) : std::nullopt;
      if (!side) continue;
      const std::vector<size_t> pieces = *side == Side::mine ? mine_.items.all(a, Direction::output)
                                                             : golden_.items.all(b, Direction::output);
      if (pieces.empty()) continue;
      Recipe& recipe = pairing.recipes.emplace_back();
      recipe.parts_of = *side;
      if (pieces.size() > 1)
        for (const size_t piece : pieces) recipe.parts.push_back(builder_.items(*side)[piece]);
      else  // no tensors hold the halves by themselves: they are cut as those of the weight are
        recipe.weight = SharedWeight{widths_of(*side, split), kLastDimension, false};
      by_value.emplace(value, &recipe);
    }
    return by_value;
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
        if (!joined && same_count && (!is_known || !is_input))
          join_first([&](const Item& candidate) { return candidate.port.index == item.port.index; });
      }
    }
  }

  PairingBuilder builder_;
  const GraphSide mine_, golden_;
  std::vector<OpPair> ops_;
  std::set<std::pair<int32_t, int32_t>> same_values_;   // of mine, of golden
  std::map<int32_t, OpPair> projections_;               // by value of mine that is their weight or bias
  std::map<int32_t, OpPair> fused_;                     // by value of mine: what takes it apart
  std::map<std::pair<size_t, size_t>, Recipe> shares_;  // by positions in mine and golden
  bool graphs_differ_ = false;
};

Result<Pairing> match_atb_atb(const Indexed& frames, const MatchOptions&) {
  if (frames.mine.empty() || frames.golden.empty()) return PairingBuilder(frames).finish();
  return GraphMatch(frames).run();
}

}  // namespace

const Matcher atb_atb_matcher = {"atb_atb", sections_by_token, match_atb_atb};

}  // namespace assay

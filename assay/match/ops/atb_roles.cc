// The roles of the operators of ATB: what they compute tells, as far as the topology names the tensors
// between them; else their types and their order.
#include "assay/match/ops/layer_flow.h"
#include "assay/match/ops/model_roles.h"

#include <algorithm>

namespace assay {
namespace {

constexpr Port kFirstOutput = {Direction::output, 0};

class AtbLayer {
 public:
  AtbLayer(const Frame& frame, const ValueFlow& flow, int32_t op, int32_t layer, Roles& roles)
      : frame_(frame),
        tree_(frame.tree()),
        flow_(flow),
        parts_(frame.tree(), flow, op),
        top_(op),
        layer_(layer),
        roles_(roles) {}

  void read() {
    give(Role::layer, top_);
    const std::vector<int32_t> inside = tree_.below(top_);
    has_attention_block_ = has_block(inside, AtbBlock::attention);
    has_mlp_block_ = has_block(inside, AtbBlock::mlp);
    for (const int32_t op : inside)
      if (tree_.is_leaf(op)) read_leaf(op);
    name_linears();
    if (parts_.has_experts()) read_experts();
    for (const int32_t op : inside)
      if (!tree_.is_leaf(op)) read_block(op);
  }

 private:
  struct Linear {
    int32_t op, result;  // result: the op that gives what the module gives, where that is another one
    std::vector<int32_t> partial = {};  // ops that give one term of it: the ranks add them up behind
    bool is_term = false;               // the result itself is one
  };

  using Part = LayerFlow::Part;

  bool is_kind(int32_t op, OpKind kind) const { return tree_.at(op).kind == kind; }
  int32_t value_of(int32_t op) const { return tree_.value_of(op, kFirstOutput); }
  const LayerFlow::Ops& leaves() const { return parts_.leaves(); }

  bool has_block(const std::vector<int32_t>& ops, AtbBlock block) const {
    return std::ranges::any_of(
        ops, [&](int32_t op) { return !tree_.is_leaf(op) && is_atb_block(tree_.at(op).type, block); });
  }

  bool is_inside(int32_t op, AtbBlock block) const {
    for (op = tree_.at(op).parent; op != top_ && op >= 0; op = tree_.at(op).parent)
      if (is_atb_block(tree_.at(op).type, block)) return true;
    return false;
  }
  bool in_mlp(int32_t op) const {
    if (has_mlp_block_) return is_inside(op, AtbBlock::mlp);
    return saw_core_ && norms_ > 1;
  }
  bool in_attention(int32_t op) const {
    return has_attention_block_ ? is_inside(op, AtbBlock::attention) : !in_mlp(op);
  }

  void give(Role role, int32_t op, Port port = kFirstOutput, int32_t number = 0,
            Branch branch = Branch::plain) {
    roles_[{layer_, role, number, branch}].push_back({op, port});
  }

  void give_linear(Role role, const Linear& linear, int32_t number = 0, Branch branch = Branch::plain) {
    std::vector<PortOfOp>& sources = roles_[{layer_, role, number, branch}];
    sources.push_back({linear.result, kFirstOutput, linear.op, linear.is_term});
    for (const int32_t op : linear.partial) sources.push_back({op, kFirstOutput, linear.op, true});
  }

  void read_leaf(int32_t op) {
    const OpKind kind = tree_.at(op).kind;
    if (is_norm(kind)) {
      read_norm(op);
    } else if (kind == OpKind::attention) {
      saw_core_ = true;
      give(Role::context, op);
    } else if (kind == OpKind::product) {
      read_product(op);
    } else if (kind == OpKind::rope) {
      give(Role::angles, op, {Direction::input, 2});
    } else if (kind == OpKind::split) {
      read_split(op);
    } else if (kind == OpKind::activation || is_atb_elementwise(tree_.at(op).type)) {
      read_elementwise(op);
    }
  }

  void read_product(int32_t op) {
    const Linear linear = finished(op);
    switch (parts_.part_of(op)) {
      case Part::projection:
        return projections_.push_back(linear);
      case Part::output:
        return note_output(linear);
      case Part::router:
        return give_linear(Role::router, linear);
      case Part::experts:
        return experts_.push_back(linear);
      case Part::shared:
        return shared_.push_back(linear);
      case Part::mlp:
        return mlp_.push_back(linear);
      case Part::unknown:
        break;
    }
    if (in_mlp(op))
      mlp_.push_back(linear);
    else if (is_inside(op, AtbBlock::query_key_value) || (in_attention(op) && !saw_core_))
      projections_.push_back(linear);
    else if (in_attention(op))
      note_output(linear);
  }

  void note_output(const Linear& linear) {
    give_linear(Role::output_projection, linear);
    outputs_.push_back(linear.result);
  }

  Branch branch_of(int32_t op) const {
    if (parts_.is_in_experts(op)) return Branch::experts;
    const bool may_be_shared = parts_.has_experts() && flow_.is_connected(op) && !parts_.is_before_core(op);
    return may_be_shared ? Branch::shared : Branch::plain;
  }

  void read_split(int32_t op) {
    const Part part = parts_.part_before(op);
    if (part == Part::projection) return give_parts(op);
    if (part != Part::unknown || in_mlp(op)) {
      // The half that is activated is the gate.
      const bool is_second = tree_.at(op).outputs.size() == 2 && !is_activated(op, 0) && is_activated(op, 1);
      const Branch branch = branch_of(op);
      give(Role::gate, op, {Direction::output, is_second ? 1 : 0}, 0, branch);
      give(Role::up, op, {Direction::output, is_second ? 0 : 1}, 0, branch);
    } else if (!saw_core_) {
      give_query_key_value(op);
    }
  }

  bool is_activated(int32_t op, int output) const {
    return std::ranges::any_of(flow_.takers(tree_.value_of(op, {Direction::output, output})),
                               [&](int32_t each) { return is_kind(each, OpKind::activation); });
  }

  static constexpr Role kParts[] = {Role::query, Role::key, Role::value};

  void give_query_key_value(int32_t op) {
    for (int i = 0; i < 3; ++i) give(kParts[i], op, {Direction::output, i});
  }

  void give_parts(int32_t split) {
    const auto count = static_cast<int>(tree_.at(split).outputs.size());
    std::vector<std::optional<int>> parts;
    for (int i = 0; i < count; ++i)
      parts.push_back(parts_.part_in_core(tree_.value_of(split, {Direction::output, i})));
    // What goes to a cache that the graph does not follow is told by its place.
    for (int i = 0; i < count && count == 3; ++i)
      if (!parts[static_cast<size_t>(i)] && std::ranges::find(parts, std::optional(i)) == parts.end())
        parts[static_cast<size_t>(i)] = i;
    for (int i = 0; i < count; ++i)
      if (const auto part = parts[static_cast<size_t>(i)]) give(kParts[*part], split, {Direction::output, i});
  }

  // What is given to the projection back is "gated"; where nothing else is multiplied with it, it is what the
  // activation gives.
  void read_elementwise(int32_t op) {
    const bool is_activation = is_kind(op, OpKind::activation);
    const std::vector<int32_t> takers = flow_.takers(value_of(op));
    const Part part = parts_.part_before(op);
    if (!takers.empty() && part != Part::unknown) {
      if (part == Part::projection || part == Part::router || parts_.parts_behind(op).empty()) return;
      const bool is_multiplied =
          std::ranges::any_of(takers, [&](int32_t each) { return is_multiplication(each); });
      if (is_activation && !gives_half(op)) give(Role::activation, op, kFirstOutput, 0, branch_of(op));
      if (!is_multiplied && (is_activation || is_multiplication(op)))
        give(Role::gated, op, kFirstOutput, 0, branch_of(op));
      return;
    }
    if (!in_mlp(op)) return;
    if (is_activation) {
      const std::optional<int32_t> next = sibling(op, 1);
      const bool multiplies = next && is_atb_elementwise(tree_.at(*next).type);
      give(multiplies && !mlp_.empty() && mlp_.size() < 3 ? Role::activation : Role::gated, op);
    } else {
      const std::optional<int32_t> previous = sibling(op, -1);
      if (previous && tree_.at(*previous).kind == OpKind::activation) give(Role::gated, op);
    }
  }

  // Of two tensors that were computed, element by element.
  bool is_multiplication(int32_t op) const {
    return is_kind(op, OpKind::elementwise) && flow_.before(op).size() > 1;
  }

  // It takes two projections at once, and multiplies them.
  bool gives_half(int32_t op) const {
    const TensorMeta *const given = meta_of(op, {Direction::input, 0}), *const result =
                                                                            meta_of(op, kFirstOutput);
    return given != nullptr && result != nullptr && given->shape.count() > result->shape.count();
  }

  const TensorMeta* meta_of(int32_t op, const Port& port) const {
    const int32_t node = frame_.node_of(op);
    if (node < 0) return nullptr;
    for (const Item& item : frame_.nodes[static_cast<size_t>(node)].items)
      if (item.port.direction == port.direction && item.port.index == port.index && item.meta != nullptr)
        return item.meta;
    return nullptr;
  }

  void read_norm(int32_t op) {
    ++norms_;
    if (const auto role = role_of_norm(op)) return give(*role, op);
    if (in_mlp(op) || (has_attention_block_ && !is_inside(op, AtbBlock::attention) && saw_core_) ||
        (!has_attention_block_ && saw_core_)) {
      give(Role::mlp_norm, op);
    } else if (projections_.empty()) {
      give(Role::attention_norm, op);
    } else if (query_norm_seen_) {
      give(Role::key_norm, op);
    } else {
      query_norm_seen_ = true;
      give(Role::query_norm, op);
    }
  }

  // By what takes its result.
  std::optional<Role> role_of_norm(int32_t op) const {
    if (!parts_.has_core() || flow_.after(op).empty()) return std::nullopt;
    if (parts_.part_before(op) == Part::projection) {
      const auto reached = parts_.part_in_core(value_of(op));
      if (!reached || *reached > 1) return std::nullopt;
      return *reached == 0 ? Role::query_norm : Role::key_norm;
    }
    std::optional<Role> role;
    for (const Part part : parts_.parts_behind(op)) {
      if (part == Part::projection) return Role::attention_norm;
      if (part != Part::unknown && part != Part::output) role = Role::mlp_norm;
    }
    return role;
  }

  std::optional<int32_t> sibling(int32_t op, int distance) const {
    const auto& all = tree_.at(tree_.at(op).parent).children;
    const auto place = std::ranges::find(all, op) - all.begin() + distance;
    if (place < 0 || place >= std::ssize(all)) return std::nullopt;
    return all[static_cast<size_t>(place)];
  }

  // What is done next to what an op gives; the next of its block where the topology does not say.
  std::optional<int32_t> next_of(int32_t op) const {
    const std::vector<int32_t> takers = flow_.takers(value_of(op));
    if (takers.size() == 1) return takers[0];
    const std::optional<int32_t> next = takers.empty() ? sibling(op, 1) : std::nullopt;
    return next && tree_.is_leaf(*next) ? next : std::nullopt;
  }

  // The op behind a linear one that completes it: makes its sums real again, adds the bias, adds up the
  // ranks.
  Linear finished(int32_t op) const {
    Linear linear{op, op};
    std::vector<int32_t> passed;
    for (;;) {
      const std::optional<int32_t> next = next_of(linear.result);
      if (!next || !leaves().contains(*next)) break;
      const OpKind kind = tree_.at(*next).kind;
      passed.push_back(linear.result);
      if (kind == OpKind::all_reduce && parts_.is_term(linear.result))
        linear.partial = passed;
      else if (adds_bias(op, linear.result, *next))
        linear.partial.clear();  // which the terms lack
      else if (kind != OpKind::all_reduce && kind != OpKind::dequantise)
        break;
      linear.result = *next;
    }
    linear.is_term = parts_.is_term(linear.result);
    return linear;
  }

  // An addition behind a linear op without a bias may as well be that of the residual: that was computed, and
  // a bias was not. Where the topology does not say, the bias is a vector; where the operands were not dumped
  // either, a residual ends its block and a bias does not.
  bool adds_bias(int32_t op, int32_t result, int32_t next) const {
    const GraphOp &linear = tree_.at(op), &sum = tree_.at(next);
    if (linear.has_bias.value_or(true) || sum.kind != OpKind::sum) return false;
    const int32_t value = value_of(result);
    for (size_t i = 0; value >= 0 && sum.inputs.size() == 2 && i < 2; ++i) {
      if (sum.inputs[i].value != value) continue;
      const GraphInput& other = sum.inputs[1 - i];
      if (other.is_weight) return true;
      return tree_.producer_of(other.value) < 0 && flow_.takers(other.value).size() == 1 &&
             !is_given_to_layer(other.value);
    }
    if (const TensorMeta* const meta = meta_of(next, {Direction::input, 1}))
      return !meta->shape.dims.empty() && meta->shape.count() == meta->shape.dims.back();
    const bool is_last = !sibling(next, 1);
    const bool is_linear_block = tree_.at(linear.parent).kind == OpKind::product;
    return linear.parent != top_ && (!is_last || is_linear_block);
  }

  bool is_given_to_layer(int32_t value) const {
    const auto& inputs = tree_.at(top_).inputs;
    return !inputs.empty() && inputs.front().value == value;
  }

  void name_linears() {
    name_projections();
    for (size_t i = 0; i < mlp_.size(); ++i) give_linear(Role::mlp_linear, mlp_[i], static_cast<int32_t>(i));
    name_mlp(mlp_, Branch::plain);
    name_mlp(shared_, Branch::shared);
    name_mlp(experts_, Branch::experts);
  }

  void name_projections() {
    if (projections_.size() == 1) return give_linear(Role::query_key_value, projections_[0]);
    if (projections_.size() != 3) return;
    std::vector<int> order;
    for (const Linear& each : projections_)
      order.push_back(parts_.part_in_core(value_of(each.result)).value_or(-1));
    std::vector<int> sorted = order;
    std::ranges::sort(sorted);
    const bool is_known = sorted == std::vector{0, 1, 2};
    for (size_t i = 0; i < 3; ++i)
      give_linear(kParts[is_known ? static_cast<size_t>(order[i]) : i], projections_[i]);
  }

  // The last is the projection back; of two in front of it, the one that is activated is the gate.
  void name_mlp(std::vector<Linear> linears, Branch branch) {
    if (linears.size() < 2) return;
    drop_strangers(linears);
    const Linear down = linears.back();
    linears.pop_back();
    if (linears.size() == 2) {
      const bool is_second = !is_activated(linears[0].result, 0) && is_activated(linears[1].result, 0);
      give_linear(Role::gate, linears[is_second ? 1 : 0], 0, branch);
      give_linear(Role::up, linears[is_second ? 0 : 1], 0, branch);
    } else if (linears.size() == 1) {
      give_linear(Role::gate_up, linears[0], 0, branch);
      give_linear(Role::up, linears[0], 0, branch);  // of a block without a gate
    }
    give_linear(Role::down, down, 0, branch);
    if (branch == Branch::plain || branch == Branch::shared)
      results_.push_back({value_of(down.result), branch});
  }

  // Those that have nothing to do with the projection back: that which weighs the shared expert.
  void drop_strangers(std::vector<Linear>& linears) const {
    constexpr size_t kMost = 64;
    if (!parts_.has_core() || linears.size() > kMost) return;
    const auto leads = [&](const Linear& from, const Linear& to) {
      return flow_.downstream(from.op, leaves()).contains(to.op);
    };
    std::vector<Linear> kept;
    for (const Linear& each : linears)
      if (std::ranges::any_of(linears,
                              [&](const Linear& other) { return leads(each, other) || leads(other, each); }))
        kept.push_back(each);
    if (kept.size() >= 2) linears = std::move(kept);
  }

  size_t count_inside(int32_t block, OpKind kind) const {
    return static_cast<size_t>(
        std::ranges::count_if(tree_.leaves(block), [&](int32_t op) { return is_kind(op, kind); }));
  }

  // What a block gives tells what it is. Its other tensors are those of what is inside of it.
  void read_block(int32_t op) {
    const int32_t value = value_of(op);
    const auto is_block = [&](AtbBlock block) { return is_atb_block(tree_.at(op).type, block); };
    const size_t products = count_inside(op, OpKind::product);
    const bool has_core = count_inside(op, OpKind::attention) > 0;
    if (value >= 0 && tree_.producer_of(value) >= 0 && leaves().contains(tree_.producer_of(value))) {
      const bool gives_attention =
          std::ranges::any_of(outputs_, [&](int32_t result) { return value_of(result) == value; });
      if (gives_attention && has_core) return give(Role::attention, op);
      if (products < 2 || has_core) return;
      for (const auto& [result, branch] : results_)
        if (result == value && !parts_.is_term(tree_.producer_of(value)))
          return give(Role::mlp, op, kFirstOutput, 0, branch);
      return;
    }
    if (is_block(AtbBlock::query_key_value))
      give_query_key_value(op);
    else if (is_block(AtbBlock::attention) && (products > 0 || !has_core))
      give(Role::attention, op);
    else if (is_block(AtbBlock::attention))
      give(Role::context, op);
    else if (is_block(AtbBlock::mlp))
      give(Role::mlp, op);
  }

  // What the experts give all together, with the shared one and the other ranks.
  void read_experts() {
    std::vector<int32_t> terms;
    for (int32_t op = parts_.combine(); op >= 0;) {
      const std::vector<int32_t> takers = flow_.takers(value_of(op));
      const int32_t next = takers.size() == 1 && leaves().contains(takers[0]) ? takers[0] : -1;
      const bool adds_shared =
          next >= 0 && is_kind(next, OpKind::sum) && std::ranges::any_of(results_, [&](const auto& result) {
            return result.second == Branch::shared && takes(next, result.first);
          });
      terms.push_back(op);
      if (adds_shared) {
        terms.clear();
      } else if (next < 0 || !is_kind(next, OpKind::all_reduce)) {
        results_.push_back({value_of(op), Branch::plain});
        give(Role::mlp, op);
        terms.pop_back();
        break;
      }
      op = next;
    }
    for (const int32_t op : terms) roles_[{layer_, Role::mlp}].push_back({op, kFirstOutput, -1, true});
  }

  bool takes(int32_t op, int32_t value) const {
    return std::ranges::any_of(tree_.at(op).inputs,
                               [&](const GraphInput& each) { return each.value == value; });
  }

  const Frame& frame_;
  const Graph& tree_;
  const ValueFlow& flow_;
  const LayerFlow parts_;
  const int32_t top_, layer_;
  Roles& roles_;
  std::vector<Linear> projections_, mlp_, shared_, experts_;
  std::vector<int32_t> outputs_;                     // ops that give what the attention gives
  std::vector<std::pair<int32_t, Branch>> results_;  // values that projections back give
  int norms_ = 0;
  bool has_attention_block_ = false, has_mlp_block_ = false, saw_core_ = false, query_norm_seen_ = false;
};

// The block, and the projection in it: of several ranks each has its share before they are gathered.
void add_logits(const Graph& tree, int32_t block, Roles& roles) {
  roles[{-1, Role::logits}].push_back({block, kFirstOutput});
  for (const int32_t op : tree.leaves(block))
    if (tree.at(op).kind == OpKind::product) roles[{-1, Role::logits}].push_back({op, kFirstOutput, op});
}

// Rows of a table that are added to the embedding.
bool is_added_to(const Graph& tree, const ValueFlow& flow, int32_t value, int32_t embedding) {
  return value >= 0 && embedding >= 0 && std::ranges::any_of(flow.takers(value), [&](int32_t op) {
           return tree.at(op).kind == OpKind::sum &&
                  std::ranges::any_of(tree.at(op).inputs,
                                      [&](const GraphInput& each) { return each.value == embedding; });
         });
}

}  // namespace

Roles roles_of_atb(const Frame& frame) {
  Roles roles;
  const Graph& tree = frame.tree();
  const ValueFlow flow(tree);
  const std::vector<int32_t> layers = atb_layers(tree);
  for (size_t i = 0; i < layers.size(); ++i)
    AtbLayer(frame, flow, layers[i], static_cast<int32_t>(i), roles).read();
  const int32_t last_layer = layers.empty() ? -1 : layers.back();
  int32_t embedding = -1;
  const auto is_embedding = [&](int32_t op) { return is_atb_block(tree.at(op).type, AtbBlock::embedding); };
  for (const int32_t root : tree.roots())
    for (const int32_t op : tree.at(root).children)
      if (embedding < 0 && is_embedding(op)) embedding = tree.value_of(op, kFirstOutput);
  for (const int32_t root : tree.roots())
    for (const int32_t op : tree.at(root).children) {
      const int32_t value = tree.value_of(op, kFirstOutput);
      if (value != embedding && tree.at(op).outputs.size() == 1 &&
          is_added_to(tree, flow, value, embedding)) {
        roles[{-1, Role::position}].push_back({op});
      } else if (is_embedding(op)) {
        roles[{-1, Role::embedding}].push_back({op});
      } else if (is_norm(tree.at(op).kind) && (layers.empty() || op > last_layer)) {
        roles[{-1, Role::final_norm}].push_back({op});
      } else if (is_norm(tree.at(op).kind) && op < layers.front()) {
        roles[{-1, Role::embedding_norm}].push_back({op});
      } else if (is_atb_block(tree.at(op).type, AtbBlock::logits)) {
        add_logits(tree, op, roles);
      }
    }
  return roles;
}

}  // namespace assay

#include "assay/match/ops/model_roles.h"

#include "assay/base/text.h"

#include <algorithm>
#include <unordered_map>

namespace assay {
namespace {

bool has(std::string_view text, std::string_view word) { return text.find(word) != std::string_view::npos; }

template <size_t kCount>
bool is_any(std::string_view word, const std::string_view (&words)[kCount]) {
  return std::find(std::begin(words), std::end(words), word) != std::end(words);
}

// ----- layers

// Children of one op that are of the most frequent type among those that contain others; at least two of
// them.
std::vector<int32_t> most_frequent_blocks(const Graph& tree, int32_t op) {
  std::unordered_map<std::string_view, std::vector<int32_t>> by_type;
  for (const int32_t child : tree.at(op).children)
    if (!tree.is_leaf(child)) by_type[tree.at(child).type].push_back(child);
  std::vector<int32_t> best;
  for (const auto& [type, ops] : by_type)
    if (ops.size() > best.size() || (ops.size() == best.size() && !best.empty() && ops[0] < best[0]))
      best = ops;
  return best.size() >= 2 ? best : std::vector<int32_t>();
}

}  // namespace

std::vector<int32_t> torch_layers(const Graph& tree) {
  std::vector<int32_t> best;
  size_t largest = 0;
  for (size_t i = 0; i < tree.ops.size(); ++i) {
    const auto op = static_cast<int32_t>(i);
    std::vector<int32_t> blocks;
    if (tree.at(op).type == "ModuleList" || tree.at(op).type == "Sequential") {
      for (const int32_t child : tree.at(op).children)
        if (!tree.is_leaf(child)) blocks.push_back(child);
    } else {
      blocks = most_frequent_blocks(tree, op);
    }
    if (blocks.empty()) continue;
    const size_t size = tree.below(op).size();
    if (size > largest) {
      largest = size;
      best = std::move(blocks);
    }
    if (tree.at(op).parent < 0 && !best.empty()) break;  // the root's own blocks contain all others
  }
  return best;
}

std::vector<int32_t> atb_layers(const Graph& tree) {
  std::vector<int32_t> layers;
  for (const int32_t root : tree.roots()) {
    std::vector<int32_t> found;
    for (const int32_t child : tree.at(root).children) {
      const bool is_layer = has(to_lower(tree.at(child).type), "layer");
      if (is_layer && !is_norm(tree.at(child).kind)) found.push_back(child);
    }
    if (found.empty()) found = most_frequent_blocks(tree, root);
    layers.insert(layers.end(), found.begin(), found.end());
  }
  return layers;
}

namespace {

// ----- torch: names tell

std::optional<Role> role_in_layer(std::string_view name, std::string_view above, std::string_view type) {
  const std::string tail = to_lower(name), block = to_lower(above);
  const bool in_attention = has(block, "attn") || has(block, "attention");
  constexpr std::string_view kAttentionNorm[] = {"input_layernorm", "ln_1", "attention_norm", "norm1",
                                                 "input_norm",      "ln1",  "attn_norm"};
  constexpr std::string_view kMlpNorm[] = {"post_attention_layernorm", "ln_2", "ffn_norm", "norm2",
                                           "post_attention_norm",      "ln2",  "mlp_norm"};
  constexpr std::string_view kQuery[] = {"q_proj", "wq", "query", "to_q"};
  constexpr std::string_view kKey[] = {"k_proj", "wk", "key", "to_k"};
  constexpr std::string_view kValue[] = {"v_proj", "wv", "value", "to_v"};
  constexpr std::string_view kAll[] = {"qkv_proj", "query_key_value", "w_pack", "c_attn", "wqkv", "qkv"};
  constexpr std::string_view kOutput[] = {"o_proj", "wo", "out_proj", "to_out"};
  constexpr std::string_view kAttention[] = {"self_attn", "self_attention", "attn", "attention"};
  constexpr std::string_view kMlp[] = {"mlp", "feed_forward", "ffn", "block_sparse_moe", "moe"};
  constexpr std::string_view kGate[] = {"gate_proj", "w1"};
  constexpr std::string_view kUp[] = {"up_proj", "w3", "dense_h_to_4h", "c_fc", "fc1", "fc_in"};
  constexpr std::string_view kDown[] = {"down_proj", "w2", "dense_4h_to_h", "fc2", "fc_out"};
  if (is_any(tail, kAttentionNorm)) return Role::attention_norm;
  if (is_any(tail, kMlpNorm)) return Role::mlp_norm;
  if (tail == "q_norm" || tail == "q_layernorm") return Role::query_norm;
  if (tail == "k_norm" || tail == "k_layernorm") return Role::key_norm;
  if (is_any(tail, kQuery)) return Role::query;
  if (is_any(tail, kKey)) return Role::key;
  if (is_any(tail, kValue)) return Role::value;
  if (is_any(tail, kAll)) return Role::query_key_value;
  if (is_any(tail, kOutput)) return Role::output_projection;
  if (in_attention && (tail == "dense" || tail == "c_proj")) return Role::output_projection;
  if (is_any(tail, kAttention)) return Role::attention;
  if (is_any(tail, kMlp)) return Role::mlp;
  if (is_any(tail, kGate)) return Role::gate;
  if (is_any(tail, kUp)) return Role::up;
  if (tail == "gate_up_proj") return Role::gate_up;
  if (is_any(tail, kDown) || (!in_attention && tail == "c_proj")) return Role::down;
  if (tail == "act_fn" || tail == "act" || tail == "activation") return Role::activation;
  if (has(tail, "rotary")) return Role::angles;
  if (type == "Linear") return Role::mlp_linear;
  return std::nullopt;
}

std::optional<Role> role_outside(std::string_view name, std::string_view type) {
  const std::string tail = to_lower(name);
  constexpr std::string_view kEmbedding[] = {"embed_tokens", "word_embeddings", "wte", "tok_embeddings",
                                             "word_embedding"};
  constexpr std::string_view kNorm[] = {"norm", "ln_f", "final_layernorm", "final_norm", "final_layer_norm"};
  constexpr std::string_view kLogits[] = {"lm_head", "output_layer", "embed_out"};
  if (is_any(tail, kEmbedding) || (type == "Embedding" && !has(tail, "pos"))) return Role::embedding;
  if (is_any(tail, kNorm)) return Role::final_norm;
  if (is_any(tail, kLogits)) return Role::logits;
  if (has(tail, "rotary")) return Role::angles;
  return std::nullopt;
}

std::string_view last_word(std::string_view name) { return name.substr(name.rfind('.') + 1); }

constexpr Port kOutput = {Direction::output, 0}, kInput = {Direction::input, 0};

void add(Roles& roles, const RolePlace& place, int32_t op, Port port = kOutput) {
  roles[place].push_back({op, port});
}

}  // namespace

Roles roles_of_torch(const Graph& tree) {
  Roles roles;
  const std::vector<int32_t> layers = torch_layers(tree);
  std::vector<bool> is_inside(tree.ops.size(), false);
  for (size_t i = 0; i < layers.size(); ++i) {
    const auto layer = static_cast<int32_t>(i);
    is_inside[static_cast<size_t>(layers[i])] = true;
    add(roles, {layer, Role::layer}, layers[i]);
    int32_t unnamed = 0;
    for (const int32_t op : tree.below(layers[i])) {
      is_inside[static_cast<size_t>(op)] = true;
      const GraphOp& each = tree.at(op);
      const auto role = role_in_layer(last_word(each.name), last_word(tree.at(each.parent).name), each.type);
      if (!role) continue;
      RolePlace place{layer, *role};
      if (*role == Role::mlp_linear) place.number = unnamed++;
      if (!roles[place].empty()) continue;  // the first of that name: experts repeat it
      add(roles, place, op);
      if (*role == Role::output_projection) add(roles, {layer, Role::context}, op, kInput);
      if (*role == Role::down) add(roles, {layer, Role::gated}, op, kInput);
    }
  }
  for (size_t i = 0; i < tree.ops.size(); ++i) {
    if (is_inside[i]) continue;
    const auto role = role_outside(last_word(tree.ops[i].name), tree.ops[i].type);
    if (role && roles[{-1, *role}].empty()) add(roles, {-1, *role}, static_cast<int32_t>(i));
  }
  std::erase_if(roles, [](const auto& each) { return each.second.empty(); });
  return roles;
}

namespace {

// ----- ATB: types and their order tell

class AtbLayer {
 public:
  AtbLayer(const Frame& frame, int32_t op, int32_t layer, Roles& roles)
      : frame_(frame), tree_(frame.tree()), top_(op), layer_(layer), roles_(roles) {}

  void read() {
    give(Role::layer, top_);
    const std::vector<int32_t> inside = tree_.below(top_);
    has_attention_block_ = has_block(inside, "attention");
    has_mlp_block_ = has_block(inside, "mlp") || has_block(inside, "ffn");
    for (const int32_t op : inside) {
      const std::string type = to_lower(tree_.at(op).type);
      if (tree_.is_leaf(op))
        read_leaf(op);
      else
        read_block(op, type);
    }
    name_linears();
  }

 private:
  struct Linear {
    int32_t op, result;  // result: the op that gives what the module gives, where that is another one
  };

  bool has_block(const std::vector<int32_t>& ops, std::string_view word) const {
    return std::any_of(ops.begin(), ops.end(), [&](int32_t op) {
      return !tree_.is_leaf(op) && has(to_lower(tree_.at(op).type), word);
    });
  }

  bool is_inside(int32_t op, std::string_view word) const {
    for (op = tree_.at(op).parent; op != top_ && op >= 0; op = tree_.at(op).parent)
      if (has(to_lower(tree_.at(op).type), word)) return true;
    return false;
  }
  bool in_mlp(int32_t op) const {
    if (has_mlp_block_) return is_inside(op, "mlp") || is_inside(op, "ffn");
    return saw_core_ && norms_ > 1;
  }
  bool in_attention(int32_t op) const {
    return has_attention_block_ ? is_inside(op, "attention") : !in_mlp(op);
  }

  void give(Role role, int32_t op, Port port = kOutput, int32_t number = 0) {
    add(roles_, {layer_, role, number}, op, port);
  }

  void read_block(int32_t op, const std::string& type) {
    if (has(type, "qkv"))
      give_query_key_value(op);
    else if (has(type, "attention"))
      give(Role::attention, op);
    else if (has(type, "mlp") || has(type, "ffn"))
      give(Role::mlp, op);
  }

  void give_query_key_value(int32_t op) {
    give(Role::query, op, {Direction::output, 0});
    give(Role::key, op, {Direction::output, 1});
    give(Role::value, op, {Direction::output, 2});
  }

  void read_leaf(int32_t op) {
    const OpKind kind = tree_.at(op).kind;
    if (is_norm(kind)) {
      read_norm(op);
    } else if (kind == OpKind::attention) {
      saw_core_ = true;
      give(Role::context, op);
    } else if (kind == OpKind::product) {
      const Linear linear{op, finished(op)};
      if (in_mlp(op))
        mlp_.push_back(linear);
      else if (is_inside(op, "qkv") || (in_attention(op) && !saw_core_))
        before_core_.push_back(linear);
      else if (in_attention(op))
        give_linear(Role::output_projection, linear);
    } else if (kind == OpKind::rope) {
      give(Role::angles, op, {Direction::input, 2});
    } else if (kind == OpKind::split) {
      if (in_mlp(op)) {
        give(Role::gate, op, {Direction::output, 0});
        give(Role::up, op, {Direction::output, 1});
      } else if (!saw_core_) {
        give_query_key_value(op);
      }
    } else if (kind == OpKind::activation && in_mlp(op)) {
      const std::optional<int32_t> next = sibling(op, 1);
      const bool multiplies = next && is_atb_elementwise(tree_.at(*next).type);
      give(multiplies && !mlp_.empty() && mlp_.size() < 3 ? Role::activation : Role::gated, op);
    } else if (is_atb_elementwise(tree_.at(op).type) && in_mlp(op)) {
      const std::optional<int32_t> previous = sibling(op, -1);
      if (previous && tree_.at(*previous).kind == OpKind::activation) give(Role::gated, op);
    }
  }

  void read_norm(int32_t op) {
    ++norms_;
    if (in_mlp(op) || (has_attention_block_ && !is_inside(op, "attention") && saw_core_) ||
        (!has_attention_block_ && saw_core_)) {
      give(Role::mlp_norm, op);
    } else if (before_core_.empty()) {
      give(Role::attention_norm, op);
    } else if (query_norm_seen_) {
      give(Role::key_norm, op);
    } else {
      query_norm_seen_ = true;
      give(Role::query_norm, op);
    }
  }

  void give_linear(Role role, const Linear& linear, int32_t number = 0) {
    give(role, linear.result, kOutput, number);
  }

  std::optional<int32_t> sibling(int32_t op, int distance) const {
    const auto& all = tree_.at(tree_.at(op).parent).children;
    const auto place = std::find(all.begin(), all.end(), op) - all.begin() + distance;
    if (place < 0 || place >= std::ssize(all)) return std::nullopt;
    return all[static_cast<size_t>(place)];
  }

  // The op behind a linear one that completes it: makes its sums real again, adds the bias, adds up the
  // ranks.
  int32_t finished(int32_t linear) const {
    int32_t result = linear;
    for (;;) {
      const std::optional<int32_t> next = sibling(result, 1);
      if (!next || !tree_.is_leaf(*next)) return result;
      const OpKind kind = tree_.at(*next).kind;
      const bool completes =
          kind == OpKind::all_reduce || kind == OpKind::dequantise || adds_bias(linear, *next);
      if (!completes) return result;
      result = *next;
    }
  }

  // An addition behind a linear op without a bias may as well be that of the residual: the bias is a vector;
  // where the operands were not dumped, a residual ends its block and a bias does not.
  bool adds_bias(int32_t op, int32_t next) const {
    const GraphOp& linear = tree_.at(op);
    if (linear.has_bias.value_or(true) || tree_.at(next).kind != OpKind::sum) return false;
    if (const int32_t node = frame_.node_of(next); node >= 0) {
      for (const Item& item : frame_.nodes[static_cast<size_t>(node)].items)
        if (item.port.direction == Direction::input && item.port.index == 1 && item.meta != nullptr) {
          const Shape& shape = item.meta->shape;
          return !shape.dims.empty() && shape.count() == shape.dims.back();
        }
    }
    const bool is_last = !sibling(next, 1);
    const bool is_linear_block = tree_.at(linear.parent).kind == OpKind::product;
    return linear.parent != top_ && (!is_last || is_linear_block);
  }

  void name_linears() {
    if (before_core_.size() == 3) {
      give_linear(Role::query, before_core_[0]);
      give_linear(Role::key, before_core_[1]);
      give_linear(Role::value, before_core_[2]);
    } else if (before_core_.size() == 1) {
      give_linear(Role::query_key_value, before_core_[0]);
    }
    for (size_t i = 0; i < mlp_.size(); ++i) give_linear(Role::mlp_linear, mlp_[i], static_cast<int32_t>(i));
    if (mlp_.size() == 3) {
      give_linear(Role::gate, mlp_[0]);
      give_linear(Role::up, mlp_[1]);
    } else if (mlp_.size() == 2) {
      give_linear(Role::gate_up, mlp_[0]);
      give_linear(Role::up, mlp_[0]);  // of a block without a gate
    }
    if (mlp_.size() >= 2) give_linear(Role::down, mlp_.back());
  }

  const Frame& frame_;
  const Graph& tree_;
  const int32_t top_, layer_;
  Roles& roles_;
  std::vector<Linear> before_core_, mlp_;
  int norms_ = 0;
  bool has_attention_block_ = false, has_mlp_block_ = false, saw_core_ = false, query_norm_seen_ = false;
};

// The block, and the projection in it: of several ranks each has its share before they are gathered.
void add_logits(const Graph& tree, int32_t block, Roles& roles) {
  add(roles, {-1, Role::logits}, block);
  for (const int32_t op : tree.leaves(block))
    if (tree.at(op).kind == OpKind::product) add(roles, {-1, Role::logits}, op);
}

}  // namespace

Roles roles_of_atb(const Frame& frame) {
  Roles roles;
  const Graph& tree = frame.tree();
  const std::vector<int32_t> layers = atb_layers(tree);
  for (size_t i = 0; i < layers.size(); ++i)
    AtbLayer(frame, layers[i], static_cast<int32_t>(i), roles).read();
  const int32_t last_layer = layers.empty() ? -1 : layers.back();
  for (const int32_t root : tree.roots())
    for (const int32_t op : tree.at(root).children) {
      const std::string type = to_lower(tree.at(op).type);
      if (has(type, "embedding") && !has(type, "position"))
        add(roles, {-1, Role::embedding}, op);
      else if (is_norm(tree.at(op).kind) && op > last_layer)
        add(roles, {-1, Role::final_norm}, op);
      else if (has(type, "lmhead") || has(type, "lm_head"))
        add_logits(tree, op, roles);
    }
  return roles;
}

}  // namespace assay

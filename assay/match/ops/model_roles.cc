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
      const bool is_layer = is_atb_block(tree.at(child).type, AtbBlock::layer);
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
  constexpr std::string_view kAttentionNorm[] = {
      "input_layernorm", "ln_1",    "attention_norm",      "norm1", "input_norm", "ln1", "attn_norm",
      "norm_1",          "ln_attn", "self_attn_layer_norm"};
  constexpr std::string_view kMlpNorm[] = {"post_attention_layernorm",
                                           "ln_2",
                                           "ffn_norm",
                                           "norm2",
                                           "post_attention_norm",
                                           "ln2",
                                           "mlp_norm",
                                           "norm_2",
                                           "ln_mlp",
                                           "final_layer_norm"};
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
  if (tail == "act_fn" || tail == "act" || tail == "activation" || tail == "gelu_impl" ||
      tail == "activation_fn")
    return Role::activation;
  if (has(tail, "rotary")) return Role::angles;
  if (type == "Linear") return Role::mlp_linear;
  return std::nullopt;
}

std::optional<Role> role_outside(std::string_view name, std::string_view type) {
  const std::string tail = to_lower(name);
  constexpr std::string_view kPosition[] = {"wpe", "embed_positions", "position_embeddings",
                                            "position_embedding"};
  constexpr std::string_view kEmbeddingNorm[] = {"word_embeddings_layernorm", "embed_layer_norm",
                                                 "embedding_norm"};
  constexpr std::string_view kEmbedding[] = {"embed_tokens", "word_embeddings", "wte", "tok_embeddings",
                                             "word_embedding"};
  constexpr std::string_view kNorm[] = {"norm", "ln_f", "final_layernorm", "final_norm", "final_layer_norm"};
  constexpr std::string_view kLogits[] = {"lm_head", "output_layer", "embed_out"};
  if (is_any(tail, kPosition)) return Role::position;
  if (is_any(tail, kEmbeddingNorm)) return Role::embedding_norm;
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

bool has_child(const Graph& tree, int32_t op, std::string_view name) {
  return std::ranges::any_of(tree.at(op).children,
                             [&](int32_t child) { return to_lower(last_word(tree.at(child).name)) == name; });
}

std::optional<RolePlace> place_in_layer(const Graph& tree, int32_t layer, int32_t op) {
  const GraphOp& each = tree.at(op);
  const std::string tail = to_lower(last_word(each.name));
  RolePlace place{layer};
  // Inside of the experts, the first number in a name behind the word is that of the expert.
  for (int32_t above = op; above != layer && above >= 0; above = tree.at(above).parent) {
    const std::string_view word = last_word(tree.at(above).name);
    const int32_t parent = tree.at(above).parent;
    if (parent >= 0 && last_word(tree.at(parent).name) == "experts")
      if (const auto number = parse_int(word); number && *number >= 0 && *number <= INT32_MAX) {
        place.branch = Branch::experts;
        place.number = static_cast<int32_t>(*number);
      }
    if (word == "shared_experts" || word == "shared_expert") {
      place.branch = Branch::shared;
      if (above == op) {
        place.role = Role::mlp;
        return place;
      }
    }
  }
  if (has_child(tree, each.parent, "experts") && (tail == "gate" || tail == "router")) {
    place.role = Role::router;
    return place;
  }
  const auto role = role_in_layer(tail, last_word(tree.at(each.parent).name), each.type);
  if (!role || (*role == Role::mlp_linear && place.branch != Branch::plain)) return std::nullopt;
  place.role = *role;
  // The first Qwen has the projection back in another module, and names the other two the other way round.
  if ((tail == "w1" || tail == "w2") && has_child(tree, each.parent, "c_proj"))
    place.role = tail == "w1" ? Role::up : Role::gate;
  return place;
}

}  // namespace

bool are_by_heads(const Graph& torch_tree, int32_t projection) {
  const int32_t above = torch_tree.at(projection).parent;
  const std::string type = above < 0 ? std::string() : to_lower(torch_tree.at(above).type);
  return has(type, "bloom") || has(type, "gptneox");
}

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
      auto place = place_in_layer(tree, layers[i], op);
      if (!place) continue;
      place->layer = layer;
      if (place->role == Role::mlp_linear) place->number = unnamed++;
      if (!roles[*place].empty()) continue;  // the first of that name
      add(roles, *place, op);
      for (const auto& [whose, given] :
           {std::pair(Role::output_projection, Role::context), std::pair(Role::down, Role::gated)})
        if (place->role == whose) {
          RolePlace of_input = *place;
          of_input.role = given;
          add(roles, of_input, op, kInput);
        }
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

}  // namespace assay

#include "assay/match/alike/known_name.h"

#include "assay/base/text.h"
#include "assay/match/alike/name_form.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace assay {
namespace {

using Words = std::vector<std::string>;

// Modules of a layer; each has its own names for what is inside.
struct Family {
  std::string_view name;
  std::vector<std::string_view> words;
};
const std::vector<Family> kFamilies = {
    {"attention", {"self_attn", "attention", "attn", "self_attention", "attention.self"}},
    {"mlp", {"mlp"}},
    {"ff", {"feed_forward", "block_sparse_moe"}},
    {"shared", {"mlp.shared_expert", "mlp.shared_experts"}},
};

struct Known {
  std::string_view what, family;  // no family: of the layer itself, or of the model
  bool in_layer;
  std::vector<std::string_view> paths;
};
// Meta and Hugging Face (Llama, Mistral, Mixtral, Qwen2, GPT-2, GPT-NeoX, BLOOM, Falcon, OPT, BERT, Baichuan,
// ChatGLM, InternLM2), Megatron-LM, Megatron-Core, vLLM.
const std::vector<Known> kKnown = {
    {"q", "attention", true, {"q_proj", "wq", "query", "q"}},
    {"k", "attention", true, {"k_proj", "wk", "key", "k"}},
    {"v", "attention", true, {"v_proj", "wv", "value", "v"}},
    {"o",
     "attention",
     true,
     {"o_proj", "wo", "dense", "linear_proj", "c_proj", "out_proj", "proj", "output.dense"}},
    {"qkv",
     "attention",
     true,
     {"qkv_proj", "query_key_value", "c_attn", "linear_qkv", "qkv", "w_pack", "wqkv"}},
    {"kv", "attention", true, {"kv_proj", "key_value", "linear_kv", "kv"}},
    {"q_norm", "attention", true, {"q_norm", "q_layernorm"}},
    {"k_norm", "attention", true, {"k_norm", "k_layernorm"}},
    {"norm1", "attention", true, {"linear_qkv.layer_norm"}},
    {"gate", "mlp", true, {"gate_proj"}},
    {"up", "mlp", true, {"up_proj"}},
    {"down", "mlp", true, {"down_proj", "dense_4h_to_h", "c_proj", "linear_fc2", "fc2"}},
    {"gate_up", "mlp", true, {"gate_up_proj", "w13"}},
    {"fc_in", "mlp", true, {"c_fc", "fc1", "dense_h_to_4h", "linear_fc1"}},
    {"router", "mlp", true, {"gate", "router"}},
    {"norm2", "mlp", true, {"linear_fc1.layer_norm"}},
    {"gate", "ff", true, {"w1", "gate_proj"}},
    {"up", "ff", true, {"w3", "up_proj"}},
    {"down", "ff", true, {"w2", "down_proj"}},
    {"gate_up", "ff", true, {"gate_up_proj", "w13"}},
    {"router", "ff", true, {"gate", "router"}},
    {"shared_gate", "shared", true, {"gate_proj"}},
    {"shared_up", "shared", true, {"up_proj"}},
    {"shared_down", "shared", true, {"down_proj", "linear_fc2"}},
    {"shared_gate_up", "shared", true, {"gate_up_proj", "linear_fc1"}},
    {"fc_in", "", true, {"fc1", "intermediate.dense"}},
    {"down", "", true, {"fc2", "output.dense"}},
    {"norm1",
     "",
     true,
     {"input_layernorm", "attention_norm", "ln_1", "ln1", "norm1", "input_norm", "self_attn_layer_norm"}},
    {"norm2",
     "",
     true,
     {"post_attention_layernorm", "ffn_norm", "ln_2", "ln2", "norm2", "pre_mlp_layernorm",
      "final_layer_norm"}},
    {"embedding",
     "",
     false,
     {"embed_tokens", "wte", "tok_embeddings", "word_embeddings", "embedding.word_embeddings",
      "embeddings.word_embeddings", "embed_in"}},
    {"positions",
     "",
     false,
     {"wpe", "embed_positions", "embedding.position_embeddings", "embeddings.position_embeddings"}},
    {"last_norm", "", false, {"norm", "ln_f", "final_layernorm", "final_layer_norm", "final_norm"}},
    {"head", "", false, {"lm_head", "output", "output_layer", "embed_out"}},
};

const std::vector<Composition> kCompositions = {
    {"qkv", {"q", "k", "v"}}, {"qkv", {"q", "kv"}},
    {"kv", {"k", "v"}},       {"gate_up", {"gate", "up"}},
    {"fc_in", {"gate_up"}},   {"fc_in", {"gate", "up"}},
    {"fc_in", {"up"}},        {"shared_gate_up", {"shared_gate", "shared_up"}},
};

// In front of the layers, where form_of has not taken it off.
constexpr std::array<std::string_view, 10> kScopes = {
    "model", "transformer", "decoder", "encoder", "gpt_neox", "bert", "roberta", "backbone", "net", "llm"};
constexpr std::array<std::string_view, 6> kContainers = {"layers", "layer", "h", "blocks", "block", "blk"};

bool is_number(std::string_view word) {
  return !word.empty() && std::ranges::all_of(word, [](char c) { return c >= '0' && c <= '9'; });
}

Words dotted_words(std::string_view plain) {
  Words words;
  for (const std::string_view word : split(plain, '.')) words.push_back(to_lower(word));
  return words;
}

// Takes the leaf off: "weight", "bias"; empty: it is neither.
std::string_view take_leaf(Words& words) {
  constexpr std::pair<std::string_view, std::string_view> kLeaves[] = {
      {"weight", "weight"}, {"bias", "bias"}, {"kernel", "weight"}, {"gamma", "weight"}, {"beta", "bias"}};
  std::string& last = words.back();
  for (const auto& [ending, leaf] : kLeaves) {
    if (last == ending) {
      words.pop_back();
      return leaf;
    }
    // "layer_norm_weight" of Megatron, "w13_weight" of vLLM.
    if (last.size() > ending.size() + 1 && last.ends_with(fmt::format("_{}", ending)) && leaf == ending) {
      last.resize(last.size() - ending.size() - 1);
      return leaf;
    }
  }
  return {};
}

template <class Table>
bool has(const Table& table, std::string_view word) {
  return std::ranges::find(table, word) != std::end(table);
}

// "experts.3" or "experts" on the way to a weight.
void take_expert(Words& words, KnownName& role) {
  const auto found = std::ranges::find(words, "experts");
  if (found == words.end()) return;
  auto at = words.erase(found);
  if (at != words.end() && *at == "local_experts") at = words.erase(at);
  if (at != words.end() && is_number(*at) && at->size() < 10) {
    role.expert = std::stoll(*at);
    words.erase(at);
  } else {
    role.is_stacked = true;
  }
}

std::string_view known_as(std::string_view path, bool in_layer) {
  for (const Known& known : kKnown) {
    if (known.in_layer != in_layer) continue;
    const auto is_one = [&](std::string_view front) {
      const size_t skip = front.empty() ? 0 : front.size() + 1;
      return path.size() > skip && path.starts_with(front) && (skip == 0 || path[skip - 1] == '.') &&
             has(known.paths, path.substr(skip));
    };
    if (known.family.empty()) {
      if (is_one("")) return known.what;
      continue;
    }
    const auto family = std::ranges::find(kFamilies, known.family, &Family::name);
    if (std::ranges::any_of(family->words, is_one)) return known.what;
  }
  return {};
}

}  // namespace

std::optional<KnownName> known_name_of(std::string_view plain) {
  Words words = dotted_words(plain);
  if (words.size() < 2) return std::nullopt;
  std::string_view leaf = take_leaf(words);
  // Stacks of experts are parameters of their own: "experts.gate_up_proj".
  const bool is_stack = leaf.empty() && words.back() != "experts" && has(words, "experts");
  if (is_stack) leaf = "weight";
  if (leaf.empty()) return std::nullopt;
  while (words.size() > 1 && has(kScopes, words[0])) words.erase(words.begin());
  size_t layer = 0;
  while (layer + 1 < words.size() && !(has(kContainers, words[layer]) && is_number(words[layer + 1])))
    ++layer;
  const bool in_layer = layer + 1 < words.size();
  KnownName role;
  Words scope;
  if (in_layer) {
    scope.assign(words.begin(), words.begin() + static_cast<ptrdiff_t>(layer));
    scope.push_back("layers");
    scope.push_back(words[layer + 1]);
    words.erase(words.begin(), words.begin() + static_cast<ptrdiff_t>(layer) + 2);
  }
  take_expert(words, role);
  role.path = fmt::format("{}", fmt::join(words, "."));
  // Experts have the words of feed_forward also where the module is called mlp.
  const bool is_expert = (role.is_stacked || role.expert >= 0) && words.size() > 1 && words[0] == "mlp";
  role.what = known_as(role.path, in_layer);
  if (role.what.empty() && is_expert) role.what = known_as("feed_forward" + role.path.substr(3), in_layer);
  if (role.what.empty()) return std::nullopt;
  role.place = fmt::format("{}.{}", fmt::join(scope, "."), leaf);
  return role;
}

std::span<const Composition> compositions() { return kCompositions; }

bool is_norm_of_states(std::string_view plain) {
  const std::optional<KnownName> known = known_name_of(plain);
  const std::string name = to_lower(known ? known->what : plain);
  return name.find("norm") != std::string::npos && hint_of(plain).empty();
}

std::string_view hint_of(std::string_view plain) {
  struct Hint {
    std::string_view what;
    std::vector<std::string_view> words;
  };
  static const std::vector<Hint> kHints = {{"query", {"q", "query", "queries", "wq"}},
                                           {"key", {"k", "key", "keys", "wk"}},
                                           {"value", {"v", "value", "values", "wv"}},
                                           {"gate", {"gate"}},
                                           {"up", {"up"}},
                                           {"down", {"down"}}};
  const std::string lower = to_lower(plain);
  std::string_view found;
  for (const std::string_view word : words_of(lower))
    for (const Hint& hint : kHints) {
      if (!has(hint.words, word)) continue;
      if (!found.empty() && found != hint.what) return {};  // of several: a fused one
      found = hint.what;
    }
  return found;
}

}  // namespace assay

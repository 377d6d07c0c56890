#include "assay/match/alike/known_name.h"

#include "assay/base/text.h"
#include "assay/match/alike/name_form.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <unordered_map>

namespace assay {
namespace {

// Modules of a layer; each has its own names for what is inside.
struct Family {
  std::string_view name;
  std::vector<std::string_view> words;
};
const std::vector<Family> kFamilies = {
    {"attention",
     {"self_attn", "attention", "attn", "self_attention", "attention.self", "attention.attention"}},
    {"mixer", {"mixer"}},
    {"cross", {"encoder_attn", "cross_attn", "cross_attention", "crossattention", "crossattention.self"}},
    {"mlp", {"mlp"}},
    {"ff", {"feed_forward", "block_sparse_moe", "ffn"}},
    {"shared",
     {"mlp.shared_expert", "mlp.shared_experts", "feed_forward.shared_expert", "feed_forward.shared_experts",
      "ffn.shared_expert", "ffn.shared_experts"}},
};

struct Known {
  std::string_view what, family;  // no family: of the layer itself, or of the model
  bool in_layer;
  std::vector<std::string_view> paths;
};
// Meta and Hugging Face (Llama, Mistral, Mixtral, Qwen2, Gemma, Phi, GPT-2, GPT-NeoX, BLOOM, Falcon, OPT,
// BERT, ViT, CLIP, Whisper, Baichuan, ChatGLM, InternLM2), DeepSeek, OpenAI, timm, Megatron-LM,
// Megatron-Core, vLLM, llama.cpp.
const std::vector<Known> kKnown = {
    {"q", "attention", true, {"q_proj", "wq", "query", "q", "linear_q_proj"}},
    {"k", "attention", true, {"k_proj", "wk", "key", "k"}},
    {"v", "attention", true, {"v_proj", "wv", "value", "v"}},
    {"o",
     "attention",
     true,
     {"o_proj", "wo", "dense", "linear_proj", "c_proj", "out_proj", "out", "proj", "output.dense"}},
    {"qkv",
     "attention",
     true,
     {"qkv_proj", "query_key_value", "c_attn", "linear_qkv", "qkv", "w_pack", "wqkv", "in_proj"}},
    {"kv", "attention", true, {"kv_proj", "key_value", "linear_kv", "kv"}},
    {"q_norm", "attention", true, {"q_norm", "q_layernorm", "q_a_layernorm", "linear_q_up_proj.layer_norm"}},
    {"k_norm", "attention", true, {"k_norm", "k_layernorm"}},
    {"kv_norm",
     "attention",
     true,
     {"kv_norm", "kv_layernorm", "kv_a_layernorm", "linear_kv_up_proj.layer_norm"}},
    // Latent attention: queries, and keys and values, go through fewer numbers.
    {"q_down", "attention", true, {"q_a_proj", "wq_a", "linear_q_down_proj"}},
    {"q_up", "attention", true, {"q_b_proj", "wq_b", "linear_q_up_proj"}},
    {"kv_down", "attention", true, {"kv_a_proj_with_mqa", "wkv_a", "linear_kv_down_proj"}},
    {"kv_up", "attention", true, {"kv_b_proj", "wkv_b", "linear_kv_up_proj"}},
    {"qkv_down", "attention", true, {"fused_qkv_a_proj"}},
    {"norm1", "attention", true, {"linear_qkv.layer_norm"}},
    {"norm_behind_attention", "attention", true, {"linear_proj.post_layernorm"}},
    {"qkv", "mixer", true, {"wqkv"}},
    {"o", "mixer", true, {"out_proj"}},
    {"cross_q", "cross", true, {"q_proj", "query", "q", "linear_q"}},
    {"cross_k", "cross", true, {"k_proj", "key", "k"}},
    {"cross_v", "cross", true, {"v_proj", "value", "v"}},
    {"cross_kv", "cross", true, {"kv_proj", "key_value", "linear_kv", "kv"}},
    {"cross_o", "cross", true, {"out_proj", "o_proj", "out", "linear_proj", "dense", "output.dense"}},
    {"gate", "mlp", true, {"gate_proj"}},
    {"up", "mlp", true, {"up_proj"}},
    {"down", "mlp", true, {"down_proj", "dense_4h_to_h", "c_proj", "linear_fc2", "fc2", "2"}},
    {"gate_up", "mlp", true, {"gate_up_proj", "w13"}},
    {"fc_in", "mlp", true, {"c_fc", "fc1", "dense_h_to_4h", "linear_fc1", "0"}},
    {"router", "mlp", true, {"gate", "router", "gate.e_score_correction", "router.expert"}},
    {"norm2", "mlp", true, {"linear_fc1.layer_norm"}},
    {"norm_behind_mlp", "mlp", true, {"linear_fc2.post_layernorm"}},
    {"gate", "ff", true, {"w1", "gate_proj"}},
    {"up", "ff", true, {"w3", "up_proj"}},
    {"down", "ff", true, {"w2", "down_proj"}},
    {"gate_up", "ff", true, {"gate_up_proj", "w13"}},
    {"router", "ff", true, {"gate", "router"}},
    {"shared_gate", "shared", true, {"gate_proj", "w1"}},
    {"shared_up", "shared", true, {"up_proj", "w3"}},
    {"shared_down", "shared", true, {"down_proj", "linear_fc2", "w2"}},
    {"shared_gate_up", "shared", true, {"gate_up_proj", "linear_fc1", "w13"}},
    {"q", "", true, {"attn_q"}},
    {"k", "", true, {"attn_k"}},
    {"v", "", true, {"attn_v"}},
    {"qkv", "", true, {"attn_qkv"}},
    {"o", "", true, {"attn_output"}},
    {"gate", "", true, {"ffn_gate"}},
    {"up", "", true, {"ffn_up"}},
    {"fc_in", "", true, {"fc1", "intermediate.dense"}},
    {"down", "", true, {"fc2", "output.dense", "ffn_down"}},
    {"router", "", true, {"ffn_gate_inp"}},
    {"norm1",
     "",
     true,
     {"input_layernorm", "attention_norm", "attn_norm", "attn_ln", "ln_1", "ln1", "ln", "norm1", "input_norm",
      "layer_norm1", "layernorm_before", "self_attn_layer_norm"}},
    {"norm2",
     "",
     true,
     {"post_attention_layernorm", "post_attention_norm", "ffn_norm", "mlp_ln", "ln_2", "ln2", "norm2",
      "layer_norm2", "layernorm_after", "pre_mlp_layernorm", "pre_feedforward_layernorm",
      "final_layer_norm"}},
    {"norm_behind_mlp", "", true, {"post_feedforward_layernorm", "post_ffw_norm"}},
    {"cross_norm", "", true, {"encoder_attn_layer_norm", "cross_attn_ln"}},
    {"embedding",
     "",
     false,
     {"embed_tokens", "wte", "embd.wte", "tok_embeddings", "token_embd", "token_embedding", "word_embeddings",
      "embedding.word_embeddings", "embeddings.word_embeddings", "embeddings.token_embedding", "embed_in",
      "embed", "embedder", "embedding", "embeddings"}},
    {"positions",
     "",
     false,
     {"wpe", "embed_positions", "positional_embedding", "embedding.position_embeddings",
      "embeddings.position_embeddings", "embeddings.position_embedding", "pos_embed"}},
    {"patches", "", false, {"patch_embed.proj", "embeddings.patch_embeddings.projection"}},
    {"last_norm",
     "",
     false,
     {"norm", "ln", "ln_f", "ln_post", "ln_final", "norm_f", "layer_norm", "layernorm", "output_norm",
      "final_layernorm", "final_layer_norm", "final_norm", "lm_head.ln"}},
    {"head", "", false, {"lm_head", "lm_head.linear", "output", "output_layer", "embed_out", "head"}},
};

// Names that mean another thing where a layer has norms before and behind its halves.
constexpr std::array<std::string_view, 2> kBehindAttention = {"post_attention_layernorm",
                                                              "post_attention_norm"};

const std::vector<Composition> kCompositions = {
    {"qkv", {"q", "k", "v"}},
    {"qkv", {"q", "kv"}},
    {"kv", {"k", "v"}},
    {"gate_up", {"gate", "up"}},
    {"fc_in", {"gate_up"}},
    {"fc_in", {"gate", "up"}},
    {"fc_in", {"up"}},
    {"shared_gate_up", {"shared_gate", "shared_up"}},
    {"cross_kv", {"cross_k", "cross_v"}},
    {"qkv_down", {"q_down", "kv_down"}},
};

// In front of the layers, where form_of has not taken it off.
constexpr std::array<std::string_view, 12> kScopes = {"model",    "transformer", "decoder",    "encoder",
                                                      "gpt_neox", "bert",        "roberta",    "vit",
                                                      "backbone", "net",         "text_model", "llm"};
constexpr std::array<std::string_view, 7> kContainers = {"layers", "layer", "h",        "blocks",
                                                         "block",  "blk",   "resblocks"};

using Words = std::vector<std::string_view>;

bool is_number(std::string_view word) {
  return !word.empty() && std::ranges::all_of(word, [](char c) { return c >= '0' && c <= '9'; });
}

// Takes the leaf off: "weight", "bias"; empty: it is neither.
std::string_view take_leaf(Words& words) {
  constexpr std::pair<std::string_view, std::string_view> kLeaves[] = {
      {"weight", "weight"}, {"bias", "bias"}, {"kernel", "weight"}, {"gamma", "weight"}, {"beta", "bias"}};
  std::string_view& last = words.back();
  for (const auto& [ending, leaf] : kLeaves) {
    if (last == ending) {
      words.pop_back();
      return leaf;
    }
    // "layer_norm_weight" of Megatron, "w13_weight" of vLLM.
    if (last.size() > ending.size() + 1 && last.ends_with(ending) && leaf == ending &&
        last[last.size() - ending.size() - 1] == '_') {
      last.remove_suffix(ending.size() + 1);
      return leaf;
    }
  }
  return {};
}

template <class Table>
bool has(const Table& table, std::string_view word) {
  return std::ranges::find(table, word) != std::end(table);
}

int64_t number_of(std::string_view digits) {
  int64_t number = 0;
  for (const char c : digits) number = number * 10 + (c - '0');
  return number;
}

// "experts.3" or "experts" on the way to a weight.
void take_expert(Words& words, KnownName& role) {
  const auto found = std::ranges::find(words, "experts");
  if (found == words.end() || role.expert >= 0) return;
  auto at = words.erase(found);
  if (at != words.end() && *at == "local_experts") at = words.erase(at);
  if (at != words.end() && is_number(*at) && at->size() < 10) {
    role.expert = number_of(*at);
    words.erase(at);
  } else {
    role.is_stacked = true;
  }
}

// "experts.linear_fc1.weight3", as Megatron numbers those that are computed together.
std::string_view take_numbered_leaf(Words& words, KnownName& role) {
  const auto experts = std::ranges::find(words, "experts");
  for (const std::string_view leaf : {"weight", "bias"}) {
    const std::string_view number = words.back().substr(std::min(leaf.size(), words.back().size()));
    if (experts == words.end() || !words.back().starts_with(leaf) || !is_number(number) || number.size() > 9)
      continue;
    role.expert = number_of(number);
    words.pop_back();
    words.erase(experts);
    return leaf;
  }
  return {};
}

std::string joined(std::span<const std::string_view> words) {
  return fmt::format("{}", fmt::join(words, "."));
}

// What each path means; of two meanings the first in the table counts.
using Meanings = std::unordered_map<std::string, std::string_view>;

Meanings meanings_of(bool in_layer) {
  Meanings meanings;
  for (const Known& known : kKnown) {
    if (known.in_layer != in_layer) continue;
    const auto family = std::ranges::find(kFamilies, known.family, &Family::name);
    for (const std::string_view path : known.paths)
      if (family == kFamilies.end())
        meanings.try_emplace(std::string(path), known.what);
      else
        for (const std::string_view word : family->words)
          meanings.try_emplace(fmt::format("{}.{}", word, path), known.what);
  }
  return meanings;
}

std::string_view known_as(const std::string& path, bool in_layer) {
  static const Meanings of_layer = meanings_of(true), of_model = meanings_of(false);
  const Meanings& meanings = in_layer ? of_layer : of_model;
  const auto found = meanings.find(path);
  return found == meanings.end() ? std::string_view() : found->second;
}

// Where a name stands in its model: what is in front of its layer, and what follows.
struct Place {
  std::string_view stack;  // "encoder", "decoder", or nothing
  Words scope;             // "layers", "3", and what no system has in common in front of it
  bool in_layer = false;

  // Takes off the words what it tells.
  explicit Place(Words& words) {
    size_t first = 0;
    while (first + 1 < words.size() && has(kScopes, words[first])) {
      if (words[first] == "encoder" || words[first] == "decoder") stack = words[first];
      ++first;
    }
    size_t layer = first;
    while (layer + 1 < words.size() && !(has(kContainers, words[layer]) && is_number(words[layer + 1])))
      ++layer;
    in_layer = layer + 1 < words.size();
    if (in_layer) {
      scope.assign(words.begin() + static_cast<ptrdiff_t>(first),
                   words.begin() + static_cast<ptrdiff_t>(layer));
      scope.push_back("layers");
      scope.push_back(words[layer + 1]);
      first = layer + 2;
    }
    words.erase(words.begin(), words.begin() + static_cast<ptrdiff_t>(first));
  }
};

// Outlives the name.
std::string_view named(std::string_view stack) {
  return stack == "encoder" ? "encoder" : stack == "decoder" ? "decoder" : "";
}

}  // namespace

std::optional<KnownName> known_name_of(std::string_view plain) {
  const std::string lower = to_lower(plain);
  Words words = split(lower, '.');
  if (words.size() < 2) return std::nullopt;
  KnownName role;
  std::string_view leaf = take_leaf(words);
  if (leaf.empty()) leaf = take_numbered_leaf(words, role);
  // Stacks of experts are parameters of their own: "experts.gate_up_proj"; positions may be.
  const bool is_own = leaf.empty() && words.back() != "experts" &&
                      (has(words, "experts") || words.back() == "positional_embedding");
  if (is_own) leaf = "weight";
  if (leaf.empty() || words.empty()) return std::nullopt;
  const Place place(words);
  role.stack = named(place.stack);
  take_expert(words, role);
  role.path = joined(words);
  // Experts have the words of feed_forward also where the module is called mlp.
  const bool is_expert = (role.is_stacked || role.expert >= 0) && words.size() > 1 && words[0] == "mlp";
  role.what = known_as(role.path, place.in_layer);
  if (role.what.empty() && is_expert)
    role.what = known_as("feed_forward" + role.path.substr(3), place.in_layer);
  if (role.what.empty()) return std::nullopt;
  role.place = fmt::format("{}.{}", joined(place.scope), leaf);
  return role;
}

bool may_be_behind_attention(const KnownName& role) { return has(kBehindAttention, role.path); }

Seat seat_of(std::string_view plain) {
  const std::string lower = to_lower(plain);
  Words words = split(lower, '.');
  const Place place(words);
  if (!place.in_layer || words.empty()) return {};
  return {fmt::format("{}.{}", joined(place.scope), joined(words)), named(place.stack)};
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

// What parameters of transformers are called in the systems that many use: "attention.wq" is
// "self_attn.q_proj", and "self_attention.query_key_value" holds it together with two others.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace assay {

struct KnownName {
  std::string_view what;    // "q", "gate_up", "norm1": a word of our own
  std::string place;        // what all parameters of one layer and leaf share: "layers.3.weight"
  int64_t expert = -1;      // of a layer with several; -1: none
  bool is_stacked = false;  // of all experts, in one tensor
  std::string path;         // as its system calls it, within the layer: "attention.wq"
  std::string_view stack;   // "encoder", "decoder": which of them it is in, if its name says so
};

// Of a plain name (name_form.h); nothing where the words are not known, or it is no weight and no bias.
std::optional<KnownName> known_name_of(std::string_view plain);

// A norm that stands behind attention where the layer has another one before its second half.
bool may_be_behind_attention(const KnownName& role);

// Where a plain name stands in its layer, without what systems put in front of their layers:
// "backbone.layers.3.mixer.D" is "layers.3.mixer.d". Empty: in none.
struct Seat {
  std::string name;
  std::string_view stack;
};
Seat seat_of(std::string_view plain);

// A norm of whole hidden states. Those of queries and keys may be shared out with their heads.
bool is_norm_of_states(std::string_view plain);

// What a fused parameter is made of, in the order in which it holds them.
struct Composition {
  std::string_view whole;
  std::vector<std::string_view> parts;
};
std::span<const Composition> compositions();

// Query, key or value; gate, up or down: what the words of a name say, whatever the system; empty: nothing.
std::string_view hint_of(std::string_view plain);

}  // namespace assay

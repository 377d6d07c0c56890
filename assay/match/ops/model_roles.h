// What an operator is for in a decoder, told from the tree it stands in: the query projection of layer 3.
#pragma once

#include "assay/model/dump.h"
#include "assay/model/graph.h"

#include <compare>
#include <map>

namespace assay {

enum class Role : uint8_t {
  embedding,
  layer,
  attention_norm,
  query_norm,
  key_norm,
  query,
  key,
  value,
  query_key_value,  // in one
  angles,           // of the rotary embedding: cosines and sines
  context,          // what the attention itself gives to the output projection
  output_projection,
  attention,
  mlp_norm,
  gate,
  up,
  gate_up,  // in one
  activation,
  gated,  // what is given to the down projection
  down,
  mlp_linear,  // of a block whose linear operators cannot be told apart; by number
  mlp,
  final_norm,
  logits,
};

struct RolePlace {
  int32_t layer = -1;  // -1: outside the layers
  Role role = Role::layer;
  int32_t number = 0;
  auto operator<=>(const RolePlace&) const = default;
};

// Where a role is to be found: a tensor of an operator.
struct PortOfOp {
  int32_t op = 0;
  Port port = {Direction::output, 0};
};

// The most direct source first.
using Roles = std::map<RolePlace, std::vector<PortOfOp>>;

Roles roles_of_torch(const Graph& tree);
Roles roles_of_atb(const Frame& frame);

// The repeated blocks of a model, in order; empty where there are none.
std::vector<int32_t> torch_layers(const Graph& tree);
std::vector<int32_t> atb_layers(const Graph& tree);

}  // namespace assay

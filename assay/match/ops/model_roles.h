// What an operator is for in a decoder, told from the tree it stands in: the query projection of layer 3.
#pragma once

#include "assay/model/dump.h"
#include "assay/model/graph.h"

#include <compare>
#include <map>

namespace assay {

enum class Role : uint8_t {
  embedding,
  position,  // of a table of positions, which is added to the embedding
  embedding_norm,
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
  router,  // how well each expert suits
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

// Which of the feed-forward blocks of a layer.
enum class Branch : uint8_t {
  plain,
  shared,   // beside the experts: it is given every token
  experts,  // in torch each by its number, in ATB all together
};

struct RolePlace {
  int32_t layer = -1;  // -1: outside the layers
  Role role = Role::layer;
  int32_t number = 0;
  Branch branch = Branch::plain;
  auto operator<=>(const RolePlace&) const = default;
};

// Where a role is to be found: a tensor of an operator.
struct PortOfOp {
  int32_t op = 0;
  Port port = {Direction::output, 0};
  int32_t product = -1;     // the projection that gives it, perhaps in front of a bias; -1: none
  bool is_partial = false;  // one term of it: the ranks add them up later
};

// The most direct source first.
using Roles = std::map<RolePlace, std::vector<PortOfOp>>;

Roles roles_of_torch(const Graph& tree);
Roles roles_of_atb(const Frame& frame);

// Queries, keys and values of torch lie head by head in what one projection gives: [head 0: q, k, v; head 1:
// …].
bool are_by_heads(const Graph& torch_tree, int32_t projection);

// The repeated blocks of a model, in order; empty where there are none.
std::vector<int32_t> torch_layers(const Graph& tree);
std::vector<int32_t> atb_layers(const Graph& tree);

}  // namespace assay

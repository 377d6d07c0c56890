// The graph of operators that a compiler made of a model, with what each of them came from.
#pragma once

#include "assay/model/op_kind.h"
#include "assay/tensor/dtype.h"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace assay {

// One output of an operator, and the tensor of the eager graph that it computes.
struct GeOutput {
  std::string fx_name;      // "{node}-{target}", as FX dumps name their files; empty: not said
  int fx_index = 0;         // which of that node's outputs
  std::string origin_name;  // after fusion: the operator that this was an output of before; empty: not said
  int origin_index = 0;     // which of its outputs
  std::optional<DType> dtype = {};
};

// "DT_BF16", as the engine names types.
std::optional<DType> find_ge_dtype(std::string_view name);

struct GeInput {
  std::string producer;  // name of the operator; empty: none
  int output = 0;        // of the producer; -1: it only has to run before
};

struct GeOp {
  OpKind kind() const { return kind_of_ge(type); }

  std::string name, type;
  std::vector<GeInput> inputs;
  std::vector<GeOutput> outputs;
  std::vector<std::string> original_names;  // of a fused operator: what it was fused from; empty: not said
};

struct GeGraph {
  std::string name;
  std::vector<GeOp> ops;    // of the graph and its sub-graphs, in the order of the file
  std::vector<GeOp> fused;  // what a compiler made of them later; a name may be that of one of the parts
  // Built by finish().
  std::unordered_map<std::string_view, int32_t> by_name;        // into ops; the first of a name
  std::unordered_map<std::string_view, int32_t> fused_by_name;  // into fused; the last of a name
  std::vector<int32_t> position;                                // of each op in execution order
  size_t longest_name = 0;

  // Call once all ops are there. Operators of a cycle keep the order of the file.
  void finish();
  const GeOp* find(std::string_view op) const;
  // One that says itself which operators it was fused from; null: none of that name does.
  const GeOp* find_fused(std::string_view op) const;
  int32_t position_of(const GeOp& op) const { return position[static_cast<size_t>(&op - ops.data())]; }
};

}  // namespace assay

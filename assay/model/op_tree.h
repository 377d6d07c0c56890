// How the operators of a frame contain each other, as the topology files of the dump say.
#pragma once

#include "assay/model/graph.h"

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

namespace assay {

struct TreeOp {
  std::string_view name;  // "LinearOperation_1_0", "root.model.layers.0.mlp"
  std::string_view type;  // "LinearOperation", "Linear"
  OpKind kind = OpKind::unknown;
  std::string_view path;  // of its folder below the frame: "1_Prefill_layer/0_LinearOperation"
  int32_t parent = -1;
  int32_t node = -1;                // of the frame; -1: nothing of it was dumped
  std::optional<bool> has_bias;     // of a linear operation
  std::optional<int> elewise_type;  // of an element-wise one, as ATB numbers them
  bool has_rows_out = true;         // of a linear one: its weight is [out, in], as in torch
  std::optional<QuantStep> quant_step = {};
  std::vector<int32_t> children = {};
  std::vector<std::string_view> inputs = {}, outputs = {};  // its tensors, as the graph names them
};

// Depth first: an op stands before its children. Several roots where the dump holds several models.
struct OpTree {
  std::vector<TreeOp> ops;

  bool is_leaf(int32_t op) const { return ops[static_cast<size_t>(op)].children.empty(); }
  const TreeOp& at(int32_t op) const { return ops[static_cast<size_t>(op)]; }
  int32_t add(TreeOp op);  // below op.parent, which is there already
  std::vector<int32_t> roots() const;
  std::vector<int32_t> below(int32_t op) const;   // all of them, depth first, without itself
  std::vector<int32_t> leaves(int32_t op) const;  // of those, the ones without children
};

}  // namespace assay

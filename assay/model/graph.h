// The operators of a model and what they hand to each other. Some dumps know a tree of operators that contain
// others (ATB, torch hooks), some the flat graph that a compiler made of a model (GE), some no more than what
// ran (FX, msprobe); all are this.
#pragma once

#include "assay/model/op_kind.h"
#include "assay/model/op_param.h"
#include "assay/model/port.h"
#include "assay/model/string_pool.h"
#include "assay/tensor/dtype.h"

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <vector>

namespace assay {

// Of a quantisation whose factors are no tensors: q = round(x * scale + offset).
struct QuantStep {
  double scale = 1, offset = 0;
};

struct GraphInput {
  std::string_view name;   // as the file has it: of the tensor (ATB), of the operator it comes from (GE)
  int output = 0;          // of that operator; -1: it only has to run before
  int32_t value = -1;      // of Graph::values; -1: none
  bool is_weight = false;  // the model lists it among its weights (ATB)
};

struct GraphOutput {
  std::string_view name = {};         // of the tensor (ATB); empty: not said
  std::string_view fx_name = {};      // the node of the eager graph that computes the same, "{node}-{target}"
  int fx_index = 0;                   // which of that node's outputs
  std::string_view origin_name = {};  // after fusion: the operator that this was an output of before
  int origin_index = 0;               // which of its outputs
  std::optional<DType> dtype = {};
  int32_t value = -1;
};

struct GraphOp {
  std::string_view name;  // "LinearOperation_1_0", "root.model.layers.0.mlp", "MatMul_3"
  std::string_view type;  // "LinearOperation", "Linear", "MatMulV2"
  OpKind kind = OpKind::unknown;
  std::string_view path = {};          // of its folder below the frame: "1_Prefill_layer/0_LinearOperation"
  int32_t parent = -1;                 // of a trace: what called it, as the dump says
  std::vector<int32_t> children = {};  // of a tree
  std::vector<GraphInput> inputs = {};
  std::vector<GraphOutput> outputs = {};
  std::vector<std::string_view> fused_from = {};  // names; empty: not said
  std::optional<bool> has_bias = {};              // of a linear operation
  std::optional<int> elewise_type = {};           // of an element-wise one, as ATB numbers them
  bool has_rows_out = true;                       // of a linear one: its weight is [out, in], as in torch
  std::optional<QuantStep> quant_step = {};
  std::span<const OpParam> params = {};  // all that the topology says, which the graph keeps
};

// What one operator makes and others take.
struct GraphValue {
  int32_t producer = -1;                // the innermost operator that makes it; -1: it comes from outside
  int output = 0;                       // of the producer
  std::vector<int32_t> consumers = {};  // each once; a block, and what is inside of it
};

enum class GraphShape : uint8_t {
  tree,   // operators contain each other
  flat,   // they stand side by side: what a compiler made of a model
  trace,  // what ran, in the order in which it did; a part of the model may be there several times
};

// Built in two steps: operators are added, then one of the ways to connect them finds what belongs together.
// Frames of one model share it, so that what was dumped is not in here: Frame::node_of.
struct Graph {
  static constexpr int32_t kNone = -1;  // no operator, no value, or not known which

  Graph() = default;
  explicit Graph(const std::shared_ptr<const Graph>& base);  // a copy that may be added to

  std::string name;
  // Of a tree, an operator before its children, and several roots where a dump holds several models; of a
  // flat one those of the graph and its sub-graphs, in the order of the file.
  std::vector<GraphOp> ops;
  std::vector<GraphOp> fused;  // what a compiler made of them later; a name may be that of one of the parts
  StringPool strings;          // where the names of operators and tensors lie
  // Filled by connect_…().
  GraphShape shape = GraphShape::tree;
  std::vector<GraphValue> values;
  std::vector<int32_t> position;  // of each operator in the order in which they finish
  size_t longest_name = 0;

  int32_t add(GraphOp op);            // below op.parent, which is there already
  void add_fused(const GraphOp& op);  // of any graph: its texts are copied
  // What operators have views of: texts, parameters.
  void keep(std::shared_ptr<const void> owner) { kept_.push_back(std::move(owner)); }
  // By the names of tensors: a name stands for what was last written under it.
  void connect_by_names();
  // The same of operators without others inside, which need not stand in order: what is read first and
  // written later is what its first writer makes, unless it is one of those that are `given`.
  void connect_by_names_in_any_order(const std::unordered_set<std::string_view>& given);
  // By the names of operators. Those of a cycle keep the order of the file.
  void connect_by_producers();
  // Not at all: operators were added as they ran, and nothing is known of values. A trace of millions has no
  // index of names either, so that find() knows none.
  void connect_as_run();

  const GraphOp& at(int32_t op) const { return ops[static_cast<size_t>(op)]; }
  int32_t find(std::string_view op) const;         // the first of that name; -1: none
  int32_t find_path(std::string_view path) const;  // of a tree: the first with that folder; -1: none
  // One that says itself which operators it was fused from, the last of that name; null: none does.
  const GraphOp* find_fused(std::string_view op) const;

  // -1: the graph names no such tensor.
  int32_t value_of(int32_t op, const Port& port) const;
  // -1: from outside, or not known.
  int32_t producer_of(int32_t value) const {
    return value < 0 ? -1 : values[static_cast<size_t>(value)].producer;
  }
  // An input that the model lists among its weights, and that no operator has written to.
  bool is_weight(int32_t op, const Port& port) const;
  std::vector<int32_t> in_order() const;  // operators by position

  bool is_leaf(int32_t op) const { return at(op).children.empty(); }
  std::vector<int32_t> roots() const;
  std::vector<int32_t> below(int32_t op) const;   // all of them, depth first, without itself
  std::vector<int32_t> leaves(int32_t op) const;  // of those, the ones without children

 private:
  void index_names();
  void order_by_dependencies();
  int32_t add_value(int32_t producer, int output);
  void take(int32_t op, GraphInput& input, int32_t value);

  std::unordered_map<std::string_view, int32_t> by_name_, by_path_, fused_by_name_;
  std::vector<std::shared_ptr<const void>> kept_;
};

// "DT_BF16", as the graph engine names types.
std::optional<DType> find_ge_dtype(std::string_view name);

}  // namespace assay

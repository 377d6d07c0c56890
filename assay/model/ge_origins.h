// Which operators of the graph as it was written an operator that ran was made of.
#pragma once

#include "assay/model/ge_graph.h"

#include <optional>
#include <string_view>
#include <vector>

namespace assay {

// What a graph says it was fused from, in execution order; else what its name tells.
std::vector<const GeOp*> origins_of(const GeGraph& graph, std::string_view op_name);

// The operator of that name where the graph has it, or those that the name is put together from, in its
// order: "Mul_1Relu" is Mul_1 and Relu. The whole name has to be used up, so that Add_12 is not Add_1; empty:
// it is an operator that the compiler put in.
std::vector<const GeOp*> origins_by_name(const GeGraph& graph, std::string_view op_name);

// The one whose result is that of them all: the last in execution order, whatever the order of names. Null:
// none.
const GeOp* last_of(const GeGraph& graph, const std::vector<const GeOp*>& origins);

// Which output of which operator of the graph each output of one that ran is.
class OutputOrigins {
 public:
  // As the graph says for each of them; where it says so for none, they are those of the last origin.
  OutputOrigins(const GeGraph& graph, std::string_view op_name, const std::vector<const GeOp*>& origins);
  explicit OutputOrigins(const GeOp* op) : last_(op) {}  // all of one operator

  struct Origin {
    const GeOp* op;  // null: not known
    int index;
  };
  Origin of(int output) const;

 private:
  const GeGraph* graph_ = nullptr;
  const GeOp* said_ = nullptr;
  const GeOp* last_;
};

// Where in execution order its result is there: at the last of what it was made of. Empty: the graph does not
// know it, nor its parts.
std::optional<int32_t> place_of(const GeGraph& graph, std::string_view op_name);

// "Mul_lxslice3": a part of an operator that was cut to fit a buffer.
bool is_slice(std::string_view op_name);

// An input of one of several fused operators that comes from outside of them.
struct OuterInput {
  const GeOp* op;
  size_t index;  // of GeOp::inputs, not counting those that are only waited for
  const GeInput* from;
};
std::vector<OuterInput> outer_inputs(const std::vector<const GeOp*>& fused);

}  // namespace assay

// Which operators of the graph as it was written an operator that ran was made of.
#pragma once

#include "assay/model/graph.h"

#include <optional>
#include <span>
#include <string_view>
#include <vector>

namespace assay {

// What a graph says it was fused from, in execution order; else what its name tells.
std::vector<int32_t> origins_of(const Graph& graph, std::string_view op_name);

// The operator of that name where the graph has it, or those that the name is put together from, in its
// order: "Mul_1Relu" is Mul_1 and Relu. The whole name has to be used up, so that Add_12 is not Add_1; empty:
// it is an operator that the compiler put in.
std::vector<int32_t> origins_by_name(const Graph& graph, std::string_view op_name);

// The one whose result is that of them all: the last in execution order, whatever the order of names. -1:
// none.
int32_t last_of(const Graph& graph, std::span<const int32_t> origins);

// Where in execution order their result is there: at the last of them. Empty: there are none.
std::optional<int32_t> place_of(const Graph& graph, std::span<const int32_t> origins);

// Which output of which operator of the graph each output of one that ran is.
class OutputOrigins {
 public:
  // As the graph says for each of them; where it says so for none, they are those of the last origin.
  OutputOrigins(const Graph& graph, std::string_view op_name, std::span<const int32_t> origins);
  explicit OutputOrigins(int32_t op) : last_(op) {}  // all of one operator

  struct Origin {
    int32_t op;  // -1: not known
    int index;
  };
  Origin of(int output) const;

 private:
  const Graph* graph_ = nullptr;
  const GraphOp* said_ = nullptr;
  int32_t last_;
};

// "Mul_lxslice3": a part of an operator that was cut to fit a buffer.
bool is_slice(std::string_view op_name);

// An input of one of several fused operators that comes from outside of them.
struct OuterInput {
  int32_t op;
  size_t index;  // of GraphOp::inputs, not counting those that are only waited for
  const GraphInput* from;
};
std::vector<OuterInput> outer_inputs(const Graph& graph, std::span<const int32_t> fused);

}  // namespace assay

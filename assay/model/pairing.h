// Which items belong together, and why.
#pragma once

#include "assay/model/dump.h"
#include "assay/model/op_kind.h"
#include "assay/model/plan.h"

namespace assay {

// Frames that are compared together. Several per side where ranks are joined.
struct Section {
  At at;
  std::vector<FrameInfo> mine, golden;
  std::string left_out = {};  // why it is not compared; empty: it is
};

struct Indexed {
  At at;
  std::vector<Frame> mine, golden;

  const std::vector<Frame>& frames(Side side) const { return side == Side::mine ? mine : golden; }
  const Frame& frame(Side side, const ItemId& id) const {
    return frames(side)[static_cast<size_t>(id.frame)];
  }
  const Node& node(Side side, const ItemId& id) const {
    return frame(side, id).nodes[static_cast<size_t>(id.node)];
  }
  const Item& item(Side side, const ItemId& id) const {
    return node(side, id).items[static_cast<size_t>(id.item)];
  }
};

enum class Why : uint8_t {
  same_name,
  same_stem,
  only_one_each,
  renumbered,       // but for the running numbers of their files
  renamed,          // as the user asked
  alike_name,       // but for prefixes, files and separators
  known_name,       // systems that many use call it so
  same_content,     // their names do not say it
  like_neighbours,  // names of this kind belong together in other layers
  its_extremes,     // one side keeps the smallest and the largest element of the other
  same_position,
  api_table,
  api_mapping,
  cell_mapping,
  data_mapping,
  layer_mapping,
  same_but_for_call,
  same_role,    // in the model: the query projection of layer 3
  op_mapping,   // a file of operator types says so
  last_output,  // of a token: its logits
  same_origin,  // the graph says that it was made of this one
  fused_from,   // … among others
  producer,     // what the graph says its input comes from
  own_input,    // of an operator that only changes type or layout
  own_inputs,   // what the operator should have given, computed from what it was given
  by_itself,    // it is not compared: what it holds is looked at
  in_place,     // the same of an input that its operator may have written to
  // Reasons why an item stands alone.
  nothing_fits,
  left_out,
  other_shape,
  other_dtype,
  not_reached,  // the method ends before it
  not_written,  // an output, as it was before its operator ran
};
std::string_view text(Why why);  // "same name"

struct Pair {
  std::optional<ItemId> mine, golden;  // one may be empty: unmatched
  Why why = Why::nothing_fits;
  bool is_constant = false;          // a weight or a constant: the graphs say that nothing computed it
  int32_t number = -1;               // where a report numbers its pairs
  const PairPlans* plans = nullptr;  // null: both as they stand; lives in the pairing

  // Null: as it stands.
  const Plan* plan(Side side) const {
    return plans == nullptr || plans->of(side).is_empty() ? nullptr : &plans->of(side);
  }
  const RankShares* ranks() const { return plans == nullptr ? nullptr : plans->ranks.get(); }
  // Golden is computed from what mine was given: nothing that a dump says of a tensor is said of it.
  bool is_computed() const {
    const Plan* const of_golden = plan(Side::golden);
    return of_golden != nullptr && of_golden->has(PlanOp::golden);
  }
  // Whose item stands for golden: an operator of mine may be held against its own input.
  Side golden_side() const {
    const Plan* const of_golden = plan(Side::golden);
    return of_golden == nullptr ? Side::golden : of_golden->from.front().side;
  }
};
static_assert(sizeof(Pair) <= 48, "two dump.json of 1 GB have millions of them");

// Where an operator stands in its model; all zero where the dumps do not say.
struct ModelPlace {
  int32_t layers_before = 0;    // finished when it runs: of the embedding and of the first layer 0
  bool is_group = false;        // what is inside it was dumped too
  bool is_quantised = false;    // one run multiplies in int8 here or before, the other does not
  bool is_compiled = false;     // an operator of a compiled graph
  bool has_graph = false;       // … of which the dump has the graph
  bool is_fused = false;        // a compiler made it of several, whose results in between are not rounded
  DType coarsest = DType::f64;  // of the real types in which results were rounded before
  OpKind kind = OpKind::unknown;
  OpTrait trait = OpTrait::none;
};

// Where an input of an operator comes from, as the graph has it.
struct InputSource {
  enum class Kind : uint8_t {
    unknown,
    given,   // a weight, a constant, what the model was called with
    result,  // of an operator that ran
  };
  Kind kind = Kind::unknown;
  int32_t port = 0;    // of the input
  int32_t node = -1;   // of a result: of Pairing::nodes
  int32_t output = 0;  // … its number there
};

// The pairs of one operator, in report order.
struct PairedNode {
  std::string_view name;
  int64_t order = 0;  // execution order: what "first" means in the first divergence
  std::span<const std::string_view> stack;
  std::vector<Pair> pairs = {};
  ModelPlace place = {};
};
static_assert(sizeof(PairedNode) <= 88, "two dump.json of 1 GB have millions of them");

struct Pairing {
  std::vector<PairedNode> nodes;
  // Of each node, where a graph says it; empty otherwise.
  std::vector<std::vector<InputSource>> sources;
  std::deque<PairPlans> plans;
  std::shared_ptr<LatePlans> late_plans = std::make_shared<LatePlans>();
  Remarks warnings;            // what a matcher could not make sense of
  int64_t passed_over = 0;     // tensors that the method has no pair for, and no row
  bool graphs_differ = false;  // operators of one side only are to be expected
  bool dequantises = false;    // int8 against a real type is made real by its scale and offset
  bool rearranges = false;     // of shapes that differ, the data may tell how they fit
  bool flattens = false;       // as many elements are enough, whatever the shapes
  bool by_itself = false;      // no tensor stands against another: each is looked at
  bool repeats_batch = false;  // a side whose first dimension is a part of the other's is repeated
};

struct Matched {
  Indexed frames;
  Pairing pairing;

  const Item& item(Side side, const ItemId& id) const { return frames.item(side, id); }
};

}  // namespace assay

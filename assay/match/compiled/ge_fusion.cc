#include "assay/match/compiled/ge_places.h"
#include "assay/match/compiled/torchair.h"
#include "assay/match/compiled/torchair_pairs.h"
#include "assay/model/origins.h"
#include "assay/support/log.h"

#include <memory>

namespace assay {
namespace {

// The tensors of the operators of golden that one of mine was fused from, as msit takes them.
struct Unfused {
  std::vector<size_t> inputs, outputs;
};

Unfused unfuse(const GraphOps& plain, const Graph& graph, const std::vector<int32_t>& origins) {
  Unfused found;
  for (const OuterInput& input : outer_inputs(graph, origins)) {
    const GraphOps::Op* const op = plain.find(graph.at(input.op).name);
    const bool is_dumped = op != nullptr && input.index < op->inputs.size();
    found.inputs.push_back(is_dumped ? op->inputs[input.index] : kNotDumped);
  }
  for (const int32_t origin : origins)  // of the last one that was dumped, though its result may be another
    if (const GraphOps::Op* const op = plain.find(graph.at(origin).name)) found.outputs = op->outputs;
  return found;
}

// One token of both sides.
class GeFusion {
 public:
  // Both ran what is one graph, so that of either side will do.
  GeFusion(const PairingBuilder& builder, int32_t mine, int32_t golden, const Graph* mine_graph,
           const Graph* golden_graph)
      : mine_(builder, Side::mine, mine),
        golden_(builder, Side::golden, golden),
        mine_graph_(mine_graph),
        mine_places_(mine_, mine_graph != nullptr ? mine_graph : golden_graph),
        golden_places_(golden_, golden_graph != nullptr ? golden_graph : mine_graph) {}

  const GraphOps& mine() const { return mine_; }

  OpPairs pairs_as_msit(const GraphOps::Op& op) const {
    OpPairs found{&op};
    const bool is_fused = op.type.starts_with("AutomaticBufferFusionOp");
    if (const GraphOps::Op* const same = golden_.find(op.name); same != nullptr && !is_fused) {
      zip_lists(op.inputs, same->inputs, Why::same_name, found.pairs);
      zip_lists(op.outputs, same->outputs, Why::same_name, found.pairs);
      return found;
    }
    const std::vector<int32_t> origins =
        mine_graph_ == nullptr ? std::vector<int32_t>() : origins_for_msit(*mine_graph_, op.name);
    if (origins.size() > 1) {
      const Unfused unfused = unfuse(golden_, *mine_graph_, origins);
      zip_lists(op.inputs, unfused.inputs, Why::fused_from, found.pairs);
      zip_lists(op.outputs, unfused.outputs, Why::fused_from, found.pairs);
    }
    if (found.pairs.empty()) log::warn("Golden data missing, My tensor name: {}", op.name);
    return found;
  }

  // What both sides made of the same operators belongs together as it stands; else an output belongs to the
  // one that ends with the same operator, and an input to that of the same operator.
  OpPairs pairs_of(const GraphOps::Op& op) const {
    OpPairs found{&op};
    const PlacedOp& placed = mine_places_.at(op);
    const GraphOps::Op* const same = golden_.find(op.name);
    if (same != nullptr && golden_places_.at(*same).parts == placed.parts) {
      pair_lists(mine_, op.inputs, golden_, same->inputs, Why::same_name, found.pairs);
      pair_lists(mine_, op.outputs, golden_, same->outputs, Why::same_name, found.pairs);
      return found;
    }
    const std::vector<size_t> inputs = golden_places_.find(placed.inputs);
    if (placed.inputs_fit)
      zip_dumped(op.inputs, inputs, found.pairs);
    else
      pair_lists(mine_, op.inputs, golden_, inputs, Why::fused_from, found.pairs);
    const size_t before = found.pairs.size();
    zip_dumped(op.outputs, golden_places_.find(placed.outputs), found.pairs);
    const bool has_result = found.pairs.size() > before;
    if (!has_result && !placed.is_of_graph && changes_form_only(op)) pair_with_own_inputs(op, found.pairs);
    return found;
  }

  // Inputs of golden of which it is not known one by one where they belong.
  std::vector<OpPairs> pairs_of_other_inputs() const {
    std::vector<OpPairs> all;
    for (const GraphOps::Op& op : golden_.all()) {
      const PlacedOp& placed = golden_places_.at(op);
      const GraphOps::Op* const same = mine_.find(op.name);
      if (placed.inputs_fit || (same != nullptr && mine_places_.at(*same).parts == placed.parts)) continue;
      OpPairs found{&op};
      pair_lists(golden_, op.inputs, mine_, mine_places_.find(placed.inputs), Why::fused_from, found.pairs);
      for (TensorPair& each : found.pairs) std::swap(each.mine, each.golden);
      all.push_back(std::move(found));
    }
    return all;
  }

 private:
  static void zip_dumped(const std::vector<size_t>& of_mine, const std::vector<size_t>& of_golden,
                         std::vector<TensorPair>& pairs) {
    zip_lists(of_mine, of_golden, Why::fused_from, pairs);
    std::erase_if(pairs, [](const TensorPair& pair) { return pair.golden == kNotDumped; });
  }

  const GraphOps mine_, golden_;
  const Graph* const mine_graph_;
  const GePlaces mine_places_, golden_places_;
};

Result<Pairing> match_ge_fusion(const Indexed& frames, const MatchOptions& options) {
  PairingBuilder builder(frames);
  std::vector<std::unique_ptr<GeFusion>> tokens;
  std::vector<OpPairs> ops;
  std::vector<Visited> visited;
  for (size_t m = 0; m < frames.mine.size(); ++m) {
    const auto golden = partner_of(frames, frames.mine[m], options.numbers_by_rank != nullptr);
    if (!golden && options.numbers_by_rank)
      log::warn("My token_id {} not found in golden dump data", frames.mine[m].at.token);
    if (!golden) continue;
    const Graph* const graph = frames.mine[m].graph.get();
    tokens.push_back(std::make_unique<GeFusion>(builder, static_cast<int32_t>(m), *golden, graph,
                                                frames.golden[static_cast<size_t>(*golden)].graph.get()));
    const GeFusion& token = *tokens.back();
    if (options.numbers_by_rank) {
      const Graph none;
      visited.emplace_back();
      for (const GraphOps::Op* op : in_order_of_msit(token.mine(), graph == nullptr ? none : *graph))
        visited.back().push_back(token.pairs_as_msit(*op));
      continue;
    }
    for (const GraphOps::Op& op : token.mine().all()) ops.push_back(token.pairs_of(op));
    for (OpPairs& of_op : token.pairs_of_other_inputs()) ops.push_back(std::move(of_op));
  }
  return options.numbers_by_rank
             ? numbered_pairs(builder, visited, (*options.numbers_by_rank)[frames.at.rank])
             : all_pairs(builder, ops);
}

}  // namespace

const Matcher ge_fusion_matcher = {"ge_fusion", sections_by_graph, match_ge_fusion};

}  // namespace assay

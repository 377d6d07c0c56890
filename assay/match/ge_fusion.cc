#include "assay/match/torchair.h"
#include "assay/match/torchair_pairs.h"
#include "assay/model/ge_origins.h"
#include "assay/support/log.h"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <unordered_map>

namespace assay {
namespace {

// The tensors of a fused operator, and those of the operators it was fused from in a run without fusion.
struct Unfused {
  std::vector<size_t> inputs, outputs;
};

Unfused unfuse(const GraphOps& plain, const std::vector<const GeOp*>& origins) {
  Unfused found;
  for (const OuterInput& input : outer_inputs(origins)) {
    const GraphOps::Op* const op = plain.find(input.op->name);
    const bool is_dumped = op != nullptr && input.index < op->inputs.size();
    found.inputs.push_back(is_dumped ? op->inputs[input.index] : kNotDumped);
  }
  for (const GeOp* origin : origins)
    if (const GraphOps::Op* const op = plain.find(origin->name)) found.outputs = op->outputs;
  return found;
}

// One token of both sides.
class GeFusion {
 public:
  GeFusion(const PairingBuilder& builder, int32_t mine, int32_t golden, const GeGraph* mine_graph,
           const GeGraph* golden_graph)
      : mine_(builder, Side::mine, mine),
        golden_(builder, Side::golden, golden),
        mine_graph_(mine_graph),
        golden_graph_(golden_graph) {}

  const GraphOps& mine() const { return mine_; }

  OpPairs pairs_of(const GraphOps::Op& op, bool as_msit) const {
    OpPairs found{&op};
    if (const GraphOps::Op* const same = golden_.find(op.name);
        same != nullptr && !(as_msit && is_fused(op))) {
      pair(op.inputs, same->inputs, Why::same_name, as_msit, found.pairs);
      pair(op.outputs, same->outputs, Why::same_name, as_msit, found.pairs);
      return found;
    }
    const std::vector<const GeOp*> origins =
        mine_graph_ == nullptr ? std::vector<const GeOp*>() : origins_of(*mine_graph_, op.name);
    if (origins.size() > 1) {
      const Unfused unfused = unfuse(golden_, origins);
      pair(op.inputs, unfused.inputs, Why::fused_from, as_msit, found.pairs);
      pair(op.outputs, unfused.outputs, Why::fused_from, as_msit, found.pairs);
    } else if (!as_msit && origins.empty() && changes_form_only(op)) {
      pair_with_own_inputs(op, found.pairs);
    }
    if (as_msit && found.pairs.empty()) log::warn("Golden data missing, My tensor name: {}", op.name);
    return found;
  }

  // Where golden is the run with fusion.
  std::vector<OpPairs> pairs_of_fused_golden() const {
    std::vector<OpPairs> all;
    if (golden_graph_ == nullptr) return all;
    for (const GraphOps::Op& op : golden_.all()) {
      if (mine_.find(op.name) != nullptr) continue;
      const std::vector<const GeOp*> origins = origins_of(*golden_graph_, op.name);
      if (origins.size() < 2) continue;
      const Unfused unfused = unfuse(mine_, origins);
      OpPairs found{&op};
      pair_lists(golden_, op.inputs, mine_, unfused.inputs, Why::fused_from, found.pairs);
      pair_lists(golden_, op.outputs, mine_, unfused.outputs, Why::fused_from, found.pairs);
      for (TensorPair& each : found.pairs) std::swap(each.mine, each.golden);
      all.push_back(std::move(found));
    }
    return all;
  }

 private:
  static bool is_fused(const GraphOps::Op& op) { return op.type.starts_with("AutomaticBufferFusionOp"); }

  void pair(const std::vector<size_t>& of_mine, const std::vector<size_t>& of_golden, Why why, bool as_msit,
            std::vector<TensorPair>& pairs) const {
    if (as_msit)
      zip_lists(of_mine, of_golden, why, pairs);
    else
      pair_lists(mine_, of_mine, golden_, of_golden, why, pairs);
  }

  const GraphOps mine_, golden_;
  const GeGraph *const mine_graph_, *const golden_graph_;
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
    const GeGraph* const graph = frames.mine[m].graph.get();
    tokens.push_back(std::make_unique<GeFusion>(builder, static_cast<int32_t>(m), *golden, graph,
                                                frames.golden[static_cast<size_t>(*golden)].graph.get()));
    const GeFusion& token = *tokens.back();
    if (options.numbers_by_rank) {
      const GeGraph none;
      visited.emplace_back();
      for (const GraphOps::Op* op : in_order_of_msit(token.mine(), graph == nullptr ? none : *graph))
        visited.back().push_back(token.pairs_of(*op, true));
      continue;
    }
    for (const GraphOps::Op& op : token.mine().all()) ops.push_back(token.pairs_of(op, false));
    for (OpPairs& of_op : token.pairs_of_fused_golden()) ops.push_back(std::move(of_op));
  }
  return options.numbers_by_rank
             ? numbered_pairs(builder, visited, (*options.numbers_by_rank)[frames.at.rank])
             : all_pairs(builder, ops);
}

}  // namespace

const Matcher ge_fusion_matcher = {"ge_fusion", sections_by_graph, match_ge_fusion};

}  // namespace assay

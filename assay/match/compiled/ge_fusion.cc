#include "assay/match/compiled/graph_ports.h"
#include "assay/match/compiled/torchair.h"
#include "assay/match/compiled/torchair_pairs.h"
#include "assay/model/origins.h"

#include <memory>

namespace assay {
namespace {

// One token of both sides.
class GeFusion {
 public:
  // Both ran what is one graph, so that of either side will do.
  GeFusion(const PairingBuilder& builder, int32_t mine, int32_t golden, const Graph* mine_graph,
           const Graph* golden_graph)
      : mine_(builder, Side::mine, mine),
        golden_(builder, Side::golden, golden),
        mine_ports_(mine_, mine_graph != nullptr ? mine_graph : golden_graph),
        golden_ports_(golden_, golden_graph != nullptr ? golden_graph : mine_graph) {}

  const GraphOps& mine() const { return mine_; }

  // What both sides made of the same operators belongs together as it stands; else an output belongs to the
  // one that ends with the same operator, and an input to that of the same operator.
  OpPairs pairs_of(const GraphOps::Op& op) const {
    OpPairs found{&op};
    const PlacedOp& placed = mine_ports_.at(op);
    const GraphOps::Op* const same = golden_.find(op.name);
    if (same != nullptr && golden_ports_.at(*same).parts == placed.parts) {
      pair_lists(mine_, op.inputs, golden_, same->inputs, Why::same_name, found.pairs);
      pair_lists(mine_, op.outputs, golden_, same->outputs, Why::same_name, found.pairs);
      return found;
    }
    const std::vector<size_t> inputs = golden_ports_.find(placed.inputs);
    if (placed.inputs_fit)
      zip_dumped(op.inputs, inputs, found.pairs);
    else
      pair_lists(mine_, op.inputs, golden_, inputs, Why::fused_from, found.pairs);
    const size_t before = found.pairs.size();
    zip_dumped(op.outputs, golden_ports_.find(placed.outputs), found.pairs);
    const bool has_result = found.pairs.size() > before;
    if (!has_result && !placed.is_of_graph && changes_form_only(op)) pair_with_own_inputs(op, found.pairs);
    return found;
  }

  // Inputs of golden of which it is not known one by one where they belong.
  std::vector<OpPairs> pairs_of_other_inputs() const {
    std::vector<OpPairs> all;
    for (const GraphOps::Op& op : golden_.all()) {
      const PlacedOp& placed = golden_ports_.at(op);
      const GraphOps::Op* const same = mine_.find(op.name);
      if (placed.inputs_fit || (same != nullptr && mine_ports_.at(*same).parts == placed.parts)) continue;
      OpPairs found{&op};
      pair_lists(golden_, op.inputs, mine_, mine_ports_.find(placed.inputs), Why::fused_from, found.pairs);
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
  const GraphPorts mine_ports_, golden_ports_;
};

Result<Pairing> match_ge_fusion(const Indexed& frames, const MatchOptions&) {
  PairingBuilder builder(frames);
  std::vector<std::unique_ptr<GeFusion>> tokens;
  std::vector<OpPairs> ops;
  for (size_t m = 0; m < frames.mine.size(); ++m) {
    const auto golden = partner_of(frames, frames.mine[m], false);
    if (!golden) continue;
    const GeFusion& token = *tokens.emplace_back(
        std::make_unique<GeFusion>(builder, static_cast<int32_t>(m), *golden, frames.mine[m].graph.get(),
                                   frames.golden[static_cast<size_t>(*golden)].graph.get()));
    for (const GraphOps::Op& op : token.mine().all()) ops.push_back(token.pairs_of(op));
    for (OpPairs& of_op : token.pairs_of_other_inputs()) ops.push_back(std::move(of_op));
  }
  return all_pairs(builder, ops);
}

}  // namespace

const Matcher ge_fusion_matcher = {"ge_fusion", sections_by_graph, match_ge_fusion};

}  // namespace assay

#include "assay/golden/families.h"

#include <algorithm>

namespace assay {
namespace {

// In the order of docs/operators.md.
constexpr GoldenFamily (*kFamilies[])() = {
    golden_activations, golden_elewise,    golden_softmaxes,  golden_norms,
    golden_ropes,       golden_products,   golden_attentions, golden_moves,
    golden_indexings,   golden_reductions, golden_samplings,  golden_collectives,
};

}  // namespace

const GoldenOp* find_golden_op(std::string_view type) {
  for (const auto family : kFamilies)
    for (const GoldenOp& op : family())
      if (op.type == type) return &op;
  return nullptr;
}

std::vector<const GoldenOp*> golden_ops() {
  std::vector<const GoldenOp*> all;
  for (const auto family : kFamilies)
    for (const GoldenOp& op : family()) all.push_back(&op);
  std::ranges::sort(all, {}, [](const GoldenOp* op) { return op->type; });
  return all;
}

}  // namespace assay

#include "assay/compat/msprobe/kernel_matcher.h"

#include "assay/match/frames.h"
#include "assay/match/keyed/entry.h"

#include <functional>

namespace assay {
namespace {

void move_leftovers_last(Pairing& pairing) {
  std::vector<PairedNode> behind;
  for (PairedNode& node : pairing.nodes) {
    PairedNode leftovers = node;
    const auto is_alone = [](const Pair& pair) { return !pair.mine; };
    std::erase_if(leftovers.pairs, std::not_fn(is_alone));
    if (leftovers.pairs.empty()) continue;
    std::erase_if(node.pairs, is_alone);
    behind.push_back(std::move(leftovers));
  }
  std::erase_if(pairing.nodes, [](const PairedNode& node) { return node.pairs.empty(); });
  pairing.nodes.insert(pairing.nodes.end(), behind.begin(), behind.end());
}

Result<Pairing> match_kernels(const Indexed& frames, const MatchOptions& options) {
  ASSAY_TRY(Pairing pairing, entry_matcher.match(frames, options));
  move_leftovers_last(pairing);
  return pairing;
}

}  // namespace

const Matcher msprobe_kernel_matcher = {"entry", sections_by_at, match_kernels};

}  // namespace assay

#include "assay/base/text.h"
#include "assay/match/inference.h"
#include "assay/match/model_roles.h"
#include "assay/match/op_items.h"
#include "assay/match/op_sections.h"

#include <algorithm>

namespace assay {
namespace {

// The output of the operator that has the highest number at the top, or of the module that makes the logits;
// else of whatever finished last.
std::optional<size_t> logits_of(const PairingBuilder& builder, Side side) {
  const OpItems items(builder, side);
  const OpTree& tree = items.tree();
  const Roles roles = builder.frames(side)[0].framework == "atb" ? Roles() : roles_of_torch(tree);
  if (const auto head = roles.find({-1, Role::logits}); head != roles.end())
    if (const auto found = items.find(head->second.front().op, Direction::output, 0)) return found;
  std::optional<size_t> last;
  for (const int32_t root : tree.roots())
    for (const int32_t op : tree.at(root).children)
      if (const auto found = items.find(op, Direction::output, 0)) last = found;
  if (last) return last;
  for (size_t i = builder.size(side); i-- > 0;)
    if (builder.item(side, i).port.direction == Direction::output) return i;
  return std::nullopt;
}

Result<Pairing> match_tokens(const Indexed& frames, const MatchOptions& options) {
  PairingBuilder builder(frames);
  if (frames.mine.empty() || frames.golden.empty()) return builder.finish();
  const auto mine = logits_of(builder, Side::mine), golden = logits_of(builder, Side::golden);
  if (mine && golden) builder.join(*mine, *golden, Why::last_output);
  Pairing pairing = builder.finish();
  // The logits are what was asked for; the rest of the dump is another comparison.
  for (PairedNode& node : pairing.nodes)
    std::erase_if(node.pairs, [](const Pair& pair) { return pair.why != Why::last_output; });
  std::erase_if(pairing.nodes, [](const PairedNode& node) { return node.pairs.empty(); });
  if (options.numbering)
    for (PairedNode& node : pairing.nodes)
      for (Pair& pair : node.pairs) pair.number = static_cast<int32_t>((*options.numbering)++);
  if (pairing.nodes.empty()) pairing.warnings.push_back("this token has no logits on one of the sides");
  return pairing;
}

}  // namespace

const Matcher token_matcher = {"token", sections_by_token, match_tokens};

}  // namespace assay

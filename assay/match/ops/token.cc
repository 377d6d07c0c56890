#include "assay/base/text.h"
#include "assay/match/ops/inference.h"
#include "assay/match/ops/model_roles.h"
#include "assay/match/ops/op_items.h"
#include "assay/match/ops/op_sections.h"

#include <algorithm>

namespace assay {
namespace {

// The output of the operator that has the highest number at the top, or of the module that makes the logits;
// else of whatever finished last.
std::optional<size_t> logits_of(const PairingBuilder& builder, Side side) {
  const OpItems items(builder, side);
  const Graph& tree = items.tree();
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

Result<Pairing> match_tokens(const Indexed& frames, const MatchOptions&) {
  PairingBuilder builder(frames);
  std::optional<ItemId> logits[2];
  std::optional<size_t> found[2];
  for (const Side side : {Side::mine, Side::golden}) {
    const auto i = static_cast<size_t>(side);
    if (!frames.frames(side).empty()) found[i] = logits_of(builder, side);
    if (found[i]) logits[i] = builder.items(side)[*found[i]];
  }
  if (found[0] && found[1]) builder.join(*found[0], *found[1], Why::last_output);
  Pairing pairing = builder.finish();
  // The logits are what was asked for; the rest of the dump is another comparison. Those of a token that only
  // one side has stand alone.
  const auto is_other = [&](const Pair& pair) {
    return !(pair.mine && pair.mine == logits[0]) && !(pair.golden && pair.golden == logits[1]);
  };
  for (PairedNode& node : pairing.nodes) std::erase_if(node.pairs, is_other);
  std::erase_if(pairing.nodes, [](const PairedNode& node) { return node.pairs.empty(); });
  if (!found[0] || !found[1])
    pairing.warnings.push_back(std::string("this token has no logits on one of the sides"));
  return pairing;
}

}  // namespace

const Matcher token_matcher = {"token", sections_by_token, match_tokens};

}  // namespace assay

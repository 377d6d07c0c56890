#include "assay/match/by_itself.h"

#include "assay/match/frames.h"
#include "assay/match/keyed/values_beside.h"

#include <algorithm>

namespace assay {
namespace {

// An output that was dumped before its operator ran is memory that nothing was written to. An input that was
// dumped before and after is, afterwards, what the operator left there: a cache that it wrote to.
Why standing_of(const Node& node, const Item& item) {
  const Port& port = item.port;
  if (port.direction == Direction::output && port.phase == Phase::before) return Why::not_written;
  if (port.direction != Direction::input || port.phase != Phase::after) return Why::by_itself;
  const bool was_dumped_before = std::ranges::any_of(node.items, [&](const Item& other) {
    return other.port.direction == Direction::input && other.port.phase == Phase::before &&
           other.port.index == port.index;
  });
  return was_dumped_before ? Why::in_place : Why::by_itself;
}

Result<Pairing> each_by_itself(const Indexed& frames, const MatchOptions&) {
  Pairing pairing;
  pairing.by_itself = true;
  for (size_t frame = 0; frame < frames.mine.size(); ++frame)
    for (size_t i = 0; i < frames.mine[frame].nodes.size(); ++i) {
      const Node& node = frames.mine[frame].nodes[i];
      PairedNode out{node.name, node.order, node.stack};
      for (size_t k = 0; k < node.items.size(); ++k) {
        // Of values beside tensors, of which a checkpoint may have many, there is nothing to tell but this.
        if (is_value(node.items[k]) && node.items[k].stated->nonfinite == nullptr) continue;
        ItemId id;
        id.frame = static_cast<decltype(id.frame)>(frame);
        id.node = static_cast<int32_t>(i);
        id.item = static_cast<int32_t>(k);
        out.pairs.push_back({id, std::nullopt, standing_of(node, node.items[k])});
      }
      if (!out.pairs.empty()) pairing.nodes.push_back(std::move(out));
    }
  return pairing;
}

}  // namespace

std::shared_ptr<const Matcher> by_itself_matcher() {
  Matcher matcher;
  matcher.name = "by_itself";
  matcher.sections = sections_of_one_dump;
  matcher.match = each_by_itself;
  matcher.needs.values = true;
  return std::make_shared<const Matcher>(std::move(matcher));
}

}  // namespace assay

#include "assay/match/stated_order.h"

#include "assay/match/keyed/name.h"
#include "assay/model/name_number.h"

#include <algorithm>
#include <unordered_map>

namespace assay {

void follow_stated_order(Indexed& frames) {
  if (frames.mine.size() != 1 || frames.golden.size() != 1) return;
  if (frames.mine[0].states_order || !frames.golden[0].states_order) return;
  std::unordered_map<std::string, int64_t> places;
  for (const Node& node : frames.golden[0].nodes) places.try_emplace(stem_of(node.name), node.order);
  std::vector<Node>& nodes = frames.mine[0].nodes;
  int64_t place = -1;  // of the node before
  for (Node& node : nodes) {
    if (const auto found = places.find(stem_of(node.name)); found != places.end()) place = found->second;
    node.order = place;
  }
  std::ranges::stable_sort(nodes, {}, &Node::order);
  for (size_t i = 0; i < nodes.size(); ++i) nodes[i].order = static_cast<int64_t>(i);
}

bool has_known_order(const Indexed& frames) {
  for (const Side side : {Side::mine, Side::golden})
    for (const Frame& frame : frames.frames(side))
      if (frame.states_order) return true;
  for (const Frame& frame : frames.mine) {
    std::optional<int64_t> before;
    for (const Node& node : frame.nodes) {
      const std::optional<int64_t> number = first_number(node.name);
      if (!number || (before && *number <= *before)) return frame.nodes.size() < 2;
      before = number;
    }
  }
  return true;
}

}  // namespace assay

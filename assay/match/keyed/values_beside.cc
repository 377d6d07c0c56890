#include "assay/match/keyed/values_beside.h"

#include "assay/match/keyed/name.h"

#include <deque>
#include <unordered_map>

namespace assay {

bool is_value(const Item& item) { return item.stated != nullptr && item.stated->given == Given::beside; }

void join_values(PairingBuilder& builder) {
  std::unordered_map<std::string, std::deque<size_t>> golden;  // keys that differ may have one text
  for (const Side side : {Side::golden, Side::mine})
    for (size_t i = 0; i < builder.size(side); ++i) {
      if (!is_value(builder.item(side, i))) continue;
      builder.set_aside(side, i);
      if (side == Side::golden)
        golden[stem_of(builder.name(side, i))].push_back(i);
      else if (const auto found = golden.find(stem_of(builder.name(side, i)));
               found != golden.end() && !found->second.empty()) {
        builder.join(i, found->second.front(), Why::same_name);
        found->second.pop_front();
      }
    }
}

int64_t drop_values(std::vector<Frame>& frames) {
  size_t dropped = 0;
  for (Frame& frame : frames) {
    for (Node& node : frame.nodes) dropped += std::erase_if(node.items, is_value);
    std::erase_if(frame.nodes, [](const Node& node) { return node.items.empty(); });
  }
  return static_cast<int64_t>(dropped);
}

}  // namespace assay

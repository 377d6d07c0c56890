#include "assay/match/pairing_builder.h"

#include "assay/base/result.h"

namespace assay {
namespace {

std::vector<ItemId> list_items(const std::vector<Frame>& frames) {
  std::vector<ItemId> items;
  for (size_t f = 0; f < frames.size(); ++f)
    for (size_t n = 0; n < frames[f].nodes.size(); ++n)
      for (size_t i = 0; i < frames[f].nodes[n].items.size(); ++i)
        items.push_back(ItemId{static_cast<int32_t>(f), static_cast<int32_t>(n), static_cast<int32_t>(i)});
  return items;
}

const Node& node_of(const std::vector<Frame>& frames, const ItemId& id) {
  return frames[static_cast<size_t>(id.frame)].nodes[static_cast<size_t>(id.node)];
}

bool same_node(const ItemId& a, const ItemId& b) { return a.frame == b.frame && a.node == b.node; }

// First position behind the node that begins at `begin`.
size_t end_of_node(const std::vector<ItemId>& items, size_t begin) {
  size_t end = begin;
  while (end < items.size() && same_node(items[begin], items[end])) ++end;
  return end;
}

}  // namespace

// Where the leftovers of golden go. Lists of positions in golden.
struct PairingBuilder::Places {
  std::vector<std::vector<size_t>> before, after;  // by position in mine: inside the node of that item
  std::vector<std::vector<size_t>>
      node_after;  // by position + 1 of an item of mine: first items of golden nodes
};

PairingBuilder::PairingBuilder(const Indexed& frames)
    : frames_(frames),
      mine_(list_items(frames.mine)),
      golden_(list_items(frames.golden)),
      link_of_mine_(mine_.size()),
      link_of_golden_(golden_.size()) {}

std::string_view PairingBuilder::name(Side side, size_t position) const {
  const ItemId& id = items(side)[position];
  return node_of(frames_.frames(side), id).items[static_cast<size_t>(id.item)].name;
}

void PairingBuilder::join(size_t mine, size_t golden, Why why) {
  ASSAY_CHECK(!link_of_mine_[mine] && !link_of_golden_[golden]);
  link_of_mine_[mine] = Link{golden, why};
  link_of_golden_[golden] = Link{mine, why};
  ++joined_;
}

bool PairingBuilder::is_joined(Side side, size_t position) const {
  return (side == Side::mine ? link_of_mine_ : link_of_golden_)[position].has_value();
}

PairingBuilder::Places PairingBuilder::place_golden_leftovers() const {
  Places places;
  places.before.resize(mine_.size());
  places.after.resize(mine_.size());
  places.node_after.resize(mine_.size() + 1);
  size_t last_partner = 0;  // 1 + position in mine of the partner of the last joined item; 0: none yet
  for (size_t begin = 0; begin < golden_.size();) {
    const size_t end = end_of_node(golden_, begin);
    size_t first_joined = begin;
    while (first_joined < end && !link_of_golden_[first_joined]) ++first_joined;
    if (first_joined == end) {
      places.node_after[last_partner].push_back(begin);
    } else {
      const size_t first_partner = link_of_golden_[first_joined]->other;
      for (size_t g = begin; g < first_joined; ++g) places.before[first_partner].push_back(g);
      for (size_t g = first_joined; g < end; ++g) {
        if (link_of_golden_[g])
          last_partner = link_of_golden_[g]->other + 1;
        else
          places.after[last_partner - 1].push_back(g);
      }
    }
    begin = end;
  }
  return places;
}

Pairing PairingBuilder::finish() const {
  const Places places = place_golden_leftovers();
  Pairing pairing;
  const auto open_node = [&](std::string_view node_name) -> PairedNode& {
    return pairing.nodes.emplace_back(PairedNode{node_name, std::ssize(pairing.nodes), {}});
  };
  const auto add_golden_nodes = [&](const std::vector<size_t>& begins) {
    for (const size_t begin : begins) {
      PairedNode& node = open_node(node_of(frames_.golden, golden_[begin]).name);
      const size_t end = end_of_node(golden_, begin);
      for (size_t g = begin; g < end; ++g)
        node.pairs.push_back(Pair{std::nullopt, golden_[g], Why::nothing_fits});
    }
  };
  const auto add_golden_items = [&](PairedNode& node, const std::vector<size_t>& positions) {
    for (const size_t g : positions) node.pairs.push_back(Pair{std::nullopt, golden_[g], Why::nothing_fits});
  };

  add_golden_nodes(places.node_after[0]);
  for (size_t begin = 0; begin < mine_.size();) {
    const size_t end = end_of_node(mine_, begin);
    PairedNode& node = open_node(node_of(frames_.mine, mine_[begin]).name);
    for (size_t m = begin; m < end; ++m) {
      add_golden_items(node, places.before[m]);
      const auto& link = link_of_mine_[m];
      node.pairs.push_back(link ? Pair{mine_[m], golden_[link->other], link->why}
                                : Pair{mine_[m], std::nullopt, Why::nothing_fits});
      add_golden_items(node, places.after[m]);
    }
    for (size_t m = begin; m < end; ++m) add_golden_nodes(places.node_after[m + 1]);
    begin = end;
  }
  return pairing;
}

}  // namespace assay

#include "assay/match/pairing_builder.h"

#include <algorithm>
#include <numeric>

namespace assay {
namespace {

constexpr uint32_t kNone = static_cast<uint32_t>(-1);

size_t count_nodes(const std::vector<Frame>& frames) {
  size_t count = 0;
  for (const Frame& frame : frames) count += frame.nodes.size();
  return count;
}

std::vector<ItemId> list_items(const std::vector<Frame>& frames) {
  size_t count = 0;
  for (const Frame& frame : frames)
    for (const Node& node : frame.nodes) count += node.items.size();
  std::vector<ItemId> items;
  items.reserve(count);
  for (size_t f = 0; f < frames.size(); ++f)
    for (size_t n = 0; n < frames[f].nodes.size(); ++n)
      for (size_t i = 0; i < frames[f].nodes[n].items.size(); ++i)
        items.push_back(ItemId{static_cast<int32_t>(f), static_cast<int32_t>(n), static_cast<int32_t>(i)});
  return items;
}

// The order of the report is that of the files; where the nodes of mine were executed in another, that is
// what "first" means. What only golden has stays with the node before it.
void number_as_executed(const Indexed& frames, Pairing& pairing) {
  using When = std::pair<int32_t, int64_t>;
  std::vector<When> executed(pairing.nodes.size());
  When now{0, -1};
  for (size_t i = 0; i < pairing.nodes.size(); ++i) {
    for (const Pair& pair : pairing.nodes[i].pairs)
      if (pair.mine) {
        const Frame& frame = frames.mine[static_cast<size_t>(pair.mine->frame)];
        now = {pair.mine->frame, frame.nodes[static_cast<size_t>(pair.mine->node)].order};
        break;
      }
    executed[i] = now;
  }
  if (std::is_sorted(executed.begin(), executed.end())) return;
  std::vector<size_t> places(pairing.nodes.size());
  std::iota(places.begin(), places.end(), size_t{0});
  std::stable_sort(places.begin(), places.end(),
                   [&](size_t a, size_t b) { return executed[a] < executed[b]; });
  for (size_t order = 0; order < places.size(); ++order)
    pairing.nodes[places[order]].order = static_cast<int64_t>(order);
}

}  // namespace

// Where what only golden has goes. `place` rises in both lists.
struct PairingBuilder::Leftovers {
  struct At {
    size_t place;
    size_t golden;
  };
  std::vector<At> items;  // place: 2 * position in mine, + 1: behind that item, inside its node
  std::vector<At> nodes;  // place: 0: first of all; 1 + position in mine: behind the node of that item
};

PairingBuilder::PairingBuilder(const Indexed& frames)
    : frames_(frames),
      mine_(list_items(frames.mine)),
      golden_(list_items(frames.golden)),
      why_alone_(mine_.size(), Why::nothing_fits),
      mine_is_joined_(mine_.size(), false),
      aside_{std::vector<bool>(mine_.size()), std::vector<bool>(golden_.size())},
      first_partner_(golden_.size(), kNone) {}

size_t PairingBuilder::end_of_node(Side side, size_t begin) const {
  const std::vector<ItemId>& ids = items(side);
  return begin + node(side, begin).items.size() - static_cast<size_t>(ids[begin].item);
}

std::string_view PairingBuilder::name_as_read(Side side, size_t position) const {
  const std::vector<std::string>& names = read_as_[static_cast<size_t>(side)];
  return names.empty() || names[position].empty() ? name(side, position) : names[position];
}

void PairingBuilder::read_as(Side side, size_t position, std::string name) {
  std::vector<std::string>& names = read_as_[static_cast<size_t>(side)];
  names.resize(size(side));
  names[position] = std::move(name);
}

void PairingBuilder::join(size_t mine, size_t golden, Why why, PairPlans plans) {
  const bool has_plans = !plans.is_empty();
  links_.push_back(Link{static_cast<uint32_t>(mine), static_cast<uint32_t>(golden),
                        has_plans ? static_cast<uint32_t>(plans_.size()) : kNone, why});
  if (has_plans) plans_.push_back(std::move(plans));
  mine_is_joined_[mine] = true;
  if (first_partner_[golden] == kNone) first_partner_[golden] = static_cast<uint32_t>(mine);
}

void PairingBuilder::cover(Side side, size_t position, size_t mine) {
  covers_ = true;
  if (side == Side::mine)
    mine_is_joined_[position] = true;
  else if (first_partner_[position] == kNone)
    first_partner_[position] = static_cast<uint32_t>(mine);
}

bool PairingBuilder::is_joined(Side side, size_t position) const {
  if (aside_[static_cast<size_t>(side)][position]) return true;
  return side == Side::mine ? mine_is_joined_[position] : first_partner_[position] != kNone;
}

PairingBuilder::Leftovers PairingBuilder::place_golden_leftovers() const {
  Leftovers left;
  size_t behind = 0;  // 1 + position in mine of the partner of the last joined item; 0: none yet
  for (size_t begin = 0; begin < golden_.size();) {
    const size_t end = end_of_node(Side::golden, begin);
    size_t first_joined = begin;
    while (first_joined < end && first_partner_[first_joined] == kNone) ++first_joined;
    if (first_joined == end) {
      left.nodes.push_back({behind, begin});
    } else {
      for (size_t g = begin; g < first_joined; ++g)
        left.items.push_back({2 * size_t{first_partner_[first_joined]}, g});
      for (size_t g = first_joined; g < end; ++g) {
        if (first_partner_[g] != kNone)
          behind = size_t{first_partner_[g]} + 1;
        else
          left.items.push_back({2 * (behind - 1) + 1, g});
      }
    }
    begin = end;
  }
  const auto earlier = [](const Leftovers::At& a, const Leftovers::At& b) { return a.place < b.place; };
  std::stable_sort(left.items.begin(), left.items.end(), earlier);
  std::stable_sort(left.nodes.begin(), left.nodes.end(), earlier);
  return left;
}

// By mine; links of one item keep their order.
void PairingBuilder::sort_links() {
  const auto by_mine = [](const Link& a, const Link& b) { return a.mine < b.mine; };
  if (!std::is_sorted(links_.begin(), links_.end(), by_mine))
    std::stable_sort(links_.begin(), links_.end(), by_mine);
}

Pairing PairingBuilder::finish() {
  const Leftovers left = place_golden_leftovers();
  sort_links();
  auto next_item = left.items.begin();
  auto next_node = left.nodes.begin();
  auto next_link = links_.begin();

  Pairing pairing;
  pairing.nodes.reserve(count_nodes(frames_.mine) + left.nodes.size());
  const auto open_node = [&](const Node& node) -> PairedNode& {
    return pairing.nodes.emplace_back(PairedNode{node.name, std::ssize(pairing.nodes), node.stack});
  };
  const auto add_golden_nodes = [&](size_t place) {
    for (; next_node != left.nodes.end() && next_node->place <= place; ++next_node) {
      PairedNode& paired = open_node(node(Side::golden, next_node->golden));
      const size_t end = end_of_node(Side::golden, next_node->golden);
      for (size_t g = next_node->golden; g < end; ++g)
        paired.pairs.push_back(Pair{std::nullopt, golden_[g], Why::nothing_fits});
    }
  };
  const auto add_golden_items = [&](PairedNode& paired, size_t place) {
    for (; next_item != left.items.end() && next_item->place <= place; ++next_item)
      paired.pairs.push_back(Pair{std::nullopt, golden_[next_item->golden], Why::nothing_fits});
  };

  add_golden_nodes(0);
  for (size_t begin = 0; begin < mine_.size();) {
    const size_t end = end_of_node(Side::mine, begin);
    PairedNode& paired = open_node(node(Side::mine, begin));
    paired.pairs.reserve(end - begin);
    for (size_t m = begin; m < end; ++m) {
      add_golden_items(paired, 2 * m);
      if (!mine_is_joined_[m]) paired.pairs.push_back(Pair{mine_[m], std::nullopt, why_alone_[m]});
      for (; next_link != links_.end() && next_link->mine == m; ++next_link) {
        Pair& pair = paired.pairs.emplace_back(Pair{mine_[m], golden_[next_link->golden], next_link->why});
        if (next_link->plans != kNone) pair.plans = &plans_[next_link->plans];
      }
      add_golden_items(paired, 2 * m + 1);
    }
    add_golden_nodes(end);
    begin = end;
  }
  number_as_executed(frames_, pairing);
  if (covers_) std::erase_if(pairing.nodes, [](const PairedNode& node) { return node.pairs.empty(); });
  pairing.plans = std::move(plans_);
  return pairing;
}

}  // namespace assay

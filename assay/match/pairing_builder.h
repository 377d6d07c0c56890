// Collects pairs and puts them in report order: the order of mine, with what only golden has at its place.
#pragma once

#include "assay/match/alike/name_form.h"
#include "assay/model/pairing.h"

#include <array>
#include <vector>

namespace assay {

class PairingBuilder {
 public:
  explicit PairingBuilder(const Indexed& frames);

  // All items of a side in execution order; everything below takes positions in these lists.
  const std::vector<ItemId>& items(Side side) const { return side == Side::mine ? mine_ : golden_; }
  size_t size(Side side) const { return items(side).size(); }
  const std::vector<Frame>& frames(Side side) const { return frames_.frames(side); }
  const Node& node(Side side, size_t position) const { return frames_.node(side, items(side)[position]); }
  const Item& item(Side side, size_t position) const { return item(side, items(side)[position]); }
  const Node& node(Side side, const ItemId& id) const { return frames_.node(side, id); }
  const Item& item(Side side, const ItemId& id) const { return frames_.item(side, id); }
  std::string_view name(Side side, size_t position) const { return item(side, position).name; }
  // … as the user wants it read (alike/rename.h).
  std::string_view name_as_read(Side side, size_t position) const;
  void read_as(Side side, size_t position, std::string name);
  // What alike/holders.h read in the names of a side, kept from step to step; empty before.
  std::vector<NameForm>& kept_forms(Side side) const { return forms_[static_cast<size_t>(side)]; }
  // First position behind the node that begins at `begin`.
  size_t end_of_node(Side side, size_t begin) const;

  // An item may be joined several times; the pairs of an item of mine keep the order of the calls.
  void join(size_t mine, size_t golden, Why why, PairPlans plans = {});
  // The item stands in the row of another, which item `mine` of mine belongs to, and has none of its own.
  void cover(Side side, size_t position, size_t mine);
  void expect(size_t joins) { links_.reserve(joins); }
  bool is_joined(Side side, size_t position) const;
  // Counts as joined from now on, and stands alone unless it is.
  void set_aside(Side side, size_t position) { aside_[static_cast<size_t>(side)][position] = true; }
  size_t joined() const { return links_.size(); }
  // Why an item of mine stands alone, where "nothing fits" would not say enough.
  void explain(size_t mine, Why why) { why_alone_[mine] = why; }

  // What is left over becomes pairs with an empty side. An item that only golden has stands after the (first)
  // partner of the item before it; it belongs to the node of mine that the rest of its own node was joined
  // to, or to a node of its own.
  Pairing finish();

 private:
  struct Link {                    // narrow: a dump of millions of items has millions of links
    uint32_t mine, golden, plans;  // the last: of plans_, or none
    Why why;
  };
  struct Leftovers;
  Leftovers place_golden_leftovers() const;
  void sort_links();

  const Indexed& frames_;
  std::vector<ItemId> mine_, golden_;
  std::vector<Link> links_;
  std::deque<PairPlans> plans_;
  bool covers_ = false;
  std::vector<Why> why_alone_;
  std::vector<bool> mine_is_joined_;
  std::array<std::vector<bool>, 2> aside_;  // by side
  mutable std::array<std::vector<NameForm>, 2> forms_;
  std::array<std::vector<std::string>, 2> read_as_;  // empty, or a name for each item: empty, its own
  std::vector<uint32_t> first_partner_;              // of an item of golden; kNone: not joined
};

}  // namespace assay

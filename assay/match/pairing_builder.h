// Collects pairs and puts them in report order: the order of mine, with what only golden has at its place.
#pragma once

#include "assay/model/pairing.h"

#include <vector>

namespace assay {

class PairingBuilder {
 public:
  explicit PairingBuilder(const Indexed& frames);

  // All items of a side in execution order; join() takes positions in these lists.
  const std::vector<ItemId>& items(Side side) const { return side == Side::mine ? mine_ : golden_; }
  std::string_view name(Side side, size_t position) const;

  // Precondition: neither is joined yet.
  void join(size_t mine, size_t golden, Why why);
  bool is_joined(Side side, size_t position) const;
  size_t joined() const { return joined_; }

  // What is left over becomes pairs with an empty side. An item that only golden has stands after the partner
  // of the item before it; it belongs to the node of mine that the rest of its own node was joined to, or to
  // a node of its own.
  Pairing finish() const;

 private:
  struct Link {
    size_t other;
    Why why;
  };
  struct Places;
  Places place_golden_leftovers() const;

  const Indexed& frames_;
  std::vector<ItemId> mine_, golden_;
  std::vector<std::optional<Link>> link_of_mine_, link_of_golden_;
  size_t joined_ = 0;
};

}  // namespace assay

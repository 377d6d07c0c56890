// What one layer has shown holds in the others: which names belong together, and how their tensors lie in
// each other. So a tensor finds its partner also where its data differ, which is why it is looked for.
#pragma once

#include "assay/match/alike/holders.h"

#include <map>

namespace assay {

// Tensors of one side that together are one of the other.
struct PartGroup {
  Side parts_side = Side::mine;
  std::vector<Holder*> parts = {};
  Holder* whole = nullptr;
  // Into how many shares each part is divided, where these are not one for each rank that is there: ranks are
  // missing, or several hold the same share. 0: they are.
  size_t of_shares = 0;
  // Where not all ranks of the parts are there: how many there should be. 0: all are.
  size_t of_ranks = 0;
  // … of the whole, of which one is there: it holds a share of every part.
  size_t whole_of_ranks = 0;
  // … and into how many shares its keys and values are divided, where several ranks hold the same. 0: one for
  // each rank.
  size_t key_shares = 0;
  // The shares of each side are joined: those of one do not lie in those of the other one by one.
  bool joins_both = false;
};

// Which of the shares a rank holds, by its place among those of the part. Precondition: of_shares > 0.
size_t share_on(const PartGroup& group, size_t source);

bool is_key_or_value(const Holder& holder);

// The shares of a part of which the one rank of the whole that is there holds one. Precondition:
// whole_of_ranks > 0.
size_t shares_of_part(const PartGroup& group, const Holder& part);

class Kinds {
 public:
  // Which arrangement a group of this kind had; nothing: none was seen.
  std::optional<size_t> arrangement(const PartGroup& group) const;
  void learn(const PartGroup& group, size_t arrangement);
  // Groups of known kinds whose tensors are all still waiting, with their arrangement.
  std::vector<std::pair<PartGroup, size_t>> predict(Holders& holders) const;

 private:
  // Where a number of a part's name comes from: a number of the whole's, or always the same.
  struct Slot {
    int from = -1;
    int64_t add = 0;
    friend bool operator==(const Slot&, const Slot&) = default;
  };
  using Slots = std::vector<Slot>;
  struct Key {
    Side parts_side;
    std::vector<std::string> parts;
    std::string whole;
    std::vector<int64_t> fixed;  // by number of the whole's name: the one it must be ("fc1"), or kAny
    bool joins_both = false;
    friend auto operator<=>(const Key&, const Key&) = default;
  };
  struct Kind {
    size_t arrangement = 0;
    std::vector<Slots> slots;  // by part
    bool is_sure = true;       // no group contradicted it
  };
  static Key key_of(const PartGroup& group);
  static constexpr int64_t kAny = -1;
  static std::vector<Slots> slots_of(const PartGroup& group);

  std::map<Key, Kind> kinds_;
};

}  // namespace assay

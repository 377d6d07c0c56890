// Some ranks of several against the whole: how many there are is one number for all that they hold, and what
// each of them should hold follows from it.
#pragma once

#include "assay/match/alike/meeting.h"

#include <set>

namespace assay {

// A rank of so many that holds its shares of a fused tensor, and keys and values that neighbours hold, too,
// as where there are fewer heads of them than ranks. Settles the group as such; false: it is none.
bool settle_copied_keys(PartGroup& group, size_t ranks);

class RankWorld {
 public:
  RankWorld(const PairingBuilder& builder, const Contents& contents)
      : builder_(builder), contents_(contents) {}

  // A group whose parts are shares of ranks, all of which or some are there; or one whose whole is one rank
  // of several (whole_of_ranks). All of them, before the first is settled.
  void add(const PartGroup& group);
  // A tensor that a rank holds all of.
  void add_whole(Side side, const Holder& holder) { count_whole(side, holder.form, holder.shape); }
  // How many ranks there are; says why the group is no share of so many, else nothing.
  std::string settle(PartGroup& group);
  // Keys or values of ranks that together might hold all of it, but are neighbours of which some hold the
  // same: settles them as such.
  void settle_copies(PartGroup& group) const;
  // What speaks against the group though it is one: a rank that is there lacks its share, or others of its
  // role are whole.
  Doubts doubts_of(const PartGroup& group);

 private:
  struct Family {
    size_t shared = 0, whole = 0;  // names of which a rank holds a share, or all
  };
  struct Votes {
    size_t all = 0, but_keys = 0;  // keys and values may have fewer shares than there are ranks
  };

  static size_t index(Side side) { return static_cast<size_t>(side); }
  void count(Side side, const NameForm& form, size_t Family::*what);
  void count_whole(Side side, const NameForm& form, const Shape& shape);
  void look_at_names(Side side);
  size_t ranks_on(Side side) const;  // 0: nobody knows

  const PairingBuilder& builder_;
  const Contents& contents_;
  std::map<size_t, Votes> votes_[2];           // by side, and number of ranks
  std::map<std::string, Family> families_[2];  // by what names have in common in all layers
  Family norms_[2];
  size_t whole_matrices_[2] = {0, 0};
  std::map<int64_t, std::set<int64_t>> ranks_there_[2];  // by stage
  bool has_looked_[2] = {false, false};
};

}  // namespace assay

// How the tensors of a group are joined: the plans of their rows.
#pragma once

#include "assay/match/alike/arrange.h"
#include "assay/match/alike/kinds.h"
#include "assay/match/alike/solve.h"

namespace assay {

// The tensors of a group that one arrangement is about: those of one rank, or of all.
struct GroupOnRank {
  std::vector<SoughtPart> parts;
  std::vector<PlanSource> sources;
  std::vector<size_t> part_positions, source_positions;
  // Where one rank of a side stands against one of the other: their numbers; -1: it is otherwise.
  int64_t part_rank = -1, whole_rank = -1;

  bool are_of_other_ranks() const { return part_rank >= 0 && whole_rank >= 0 && part_rank != whole_rank; }
};

// What the arrangements of a group depend on.
struct GroupShapes {
  std::vector<std::vector<int64_t>> dims;  // of the parts, then of the whole
  std::vector<size_t> shares;              // that ranks hold of each of them
  std::vector<int64_t> there;              // which shares, or which rank of the whole, where not all are
  size_t of_shares = 0, whole_of_ranks = 0, key_shares = 0;
  bool joins_both = false;
  friend auto operator<=>(const GroupShapes&, const GroupShapes&) = default;
};
GroupShapes shapes_of(const PartGroup& group);

// What is seen so far, in another order of its elements: that of a tensor of its shape (rearrangements).
Arrangement turned(const Arrangement& seen, const Arrangement& order);

// Ways in which the parts may lie in the whole, by their shapes.
std::vector<std::vector<Arrangement>> arrangements_of(const PartGroup& group);
// Several where every rank of one side stands against its own of the other, or where there are copies.
std::vector<GroupOnRank> on_ranks(const PairingBuilder& builder, const PartGroup& group);

struct Doubts {
  bool is_unsure = false;
  std::string contradiction = {};  // PairPlans::contradiction
  std::string lacks = {};          // PairPlans::lacks
};

// How a plan says that a tensor is seen so.
PlanStep view_of(const Piece& piece, int32_t operand);
// "mp_rank_{00,01}/model.pt:w" of the names of several ranks.
std::string name_of_ranks(const std::vector<std::string_view>& names);
// The stretches in the text of an arrangement, "[0:2048]"; empty: it has none.
std::string part_in(const std::string& text);

// What every rank holds of a tensor, by how it lies: layers lie alike.
struct SharesOfTensor {
  std::shared_ptr<const std::vector<RankShare>> shares;
  std::optional<size_t> dimension;  // along which they stand behind each other
};
using KnownShares = std::map<std::pair<const std::vector<Arrangement>*, Side>, SharesOfTensor>;

// A row for every part, or one for all ranks that hold a single one (rank_rows.h), in which the whole is seen
// as the arrangement says.
// known: of arrangements that outlive it; null: this is one of its own.
void join_group(PairingBuilder& builder, const PartGroup& group, const std::vector<Arrangement>& arrangement,
                Why why, const std::string& note, const Doubts& doubts, KnownShares* known = nullptr);
}  // namespace assay

// Tensors that find each other: what is found is collected, so that it can be held against all the rest
// before anything is joined. What is looked for, and in which order, say known.cc (names) and by_content.cc
// (data).
#pragma once

#include "assay/match/alike/effort.h"
#include "assay/match/alike/group_plans.h"
#include "assay/match/alike/solve.h"

#include <deque>

namespace assay {

// A group that is going to be joined.
struct Decision {
  PartGroup group = {};
  // Null: each of the parts as it stands, though their shapes do not fit.
  const std::vector<Arrangement>* layout = nullptr;
  Why why = Why::same_content;
  std::string note = {};
  bool by_data = true;       // … and not by names or neighbours
  bool shows_layout = true;  // its data lie in no other way
  Doubts doubts = {};
};

class Meeting {
 public:
  using Arrangements = std::vector<std::vector<Arrangement>>;

  // All outlive this.
  Meeting(PairingBuilder& builder, const Contents& contents, Holders& holders)
      : builder_(builder), contents_(contents), solver_(contents), holders_(holders) {}

  std::vector<Holder*> waiting(Side side);
  Holders& holders() { return holders_; }
  const PairingBuilder& builder() const { return builder_; }
  const Contents& contents() const { return contents_; }
  Kinds& kinds() { return kinds_; }
  std::vector<Decision>& decisions() { return decisions_; }
  // One that is made of others; lives as long as this.
  Holder& keep(Holder holder) { return made_.emplace_back(std::move(holder)); }
  // Layers have the same shapes over and over.
  const Arrangements& arrangements(const PartGroup& group);

  // Joins the group where the data show how it lies.
  bool meet(const PartGroup& group, Why why, const std::string& note, PartsThatFit wanted,
            const Doubts& doubts = {});
  void decide(const PartGroup& group, size_t arrangement, Decision decision);
  void decide_as_they_stand(const PartGroup& group, Decision decision);
  // What lies like that of other layers: where the data show it, or whatever it holds.
  void meet_like_neighbours(Why why);
  Result<void> sketch_whole(Side side, std::span<Holder* const> wanted) {
    return assay::sketch_whole(builder_, contents_, side, wanted, holders_);
  }
  void join_all();

 private:
  std::optional<Solved> solve(const PartGroup& group, PartsThatFit wanted, bool by_name);
  // With the parts that fit nowhere turned: rotary pairs may stand in another order inside a fused tensor.
  std::vector<Arrangement> turn_misfits(const PartGroup& group, Solved& solved);

  PairingBuilder& builder_;
  const Contents& contents_;
  const Solver solver_;
  Holders& holders_;
  Kinds kinds_;
  std::map<GroupShapes, Arrangements> known_arrangements_;
  std::deque<std::vector<Arrangement>> turned_;
  std::deque<Holder> made_;
  std::vector<Decision> decisions_;
  KnownShares known_shares_;
};

bool is_still_waiting(const PartGroup& group);
// The finer of two is the part.
PartGroup group_of(Holder& mine, Holder& golden);
// Whether the parts of a fused tensor lie in it in their order.
bool is_in_order(const PartGroup& group, const std::vector<Arrangement>& layout);

// known.cc: names that are known to mean the same, and those that ranks of both sides have.
void meet_known(Meeting& meeting);
// by_content.cc: by sketches. False where there were too many tensors to hold all against all. What was met
// is to be dropped where the effort is spent.
Result<bool> meet_by_content(Meeting& meeting, Effort& effort);
// doubts.cc: pairs that names or other layers speak against.
void find_doubts(Meeting& meeting);

}  // namespace assay

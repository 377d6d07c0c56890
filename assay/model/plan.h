// What is done to tensors of the dumps before two of them are compared, where the files do not hold them in
// a form that can be. A matcher writes the plan when it joins a pair; run/compare/plan_runner.h carries it
// out, on every rank that holds the tensors.
#pragma once

#include "assay/model/item_id.h"

#include <deque>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <vector>

namespace assay {

enum class PlanOp : uint8_t {
  cut,        // (a): args dimension, first index, how many
  join,       // (a, b, …): behind each other; args dimension. Comes last
  weight,     // (a): ranks may hold shares of it; args may it lie transposed, does it as a rule. Comes last
  add_ranks,  // (a): what the ranks hold, added up: partial sums in front of an all-reduce. Comes last
  unstack,    // (a): [ranks, rows, columns], as an all-gather stacks them, side by side: [rows, ranks *
              // columns]
  angles,  // (table, lengths): of the positions at hand; args 1 for sines, and how many positions these are
  last_angles,    // (table, length): of the last position of one sequence; args 1 for sines
  single_angles,  // (a): of one position, where every angle stands twice, each once
  dequantise,     // (q, scale, offset) per channel, without offset 0; or (q) with numbers scale and offset
  rescale,        // (q, offset, scale): (q - offset) * scale, as torch broadcasts and rounds
  extremes,       // (a): the smallest and the largest element
  view,           // (a): args the first element, then the dimensions, then their strides
  concat,         // (a, b, …): all elements behind each other, in one dimension
  reshape,        // (a): args the dimensions
  golden,         // (output, inputs …): what the operator that wrote `output` should have written, from its
                  // inputs; args which of its outputs, how many were dumped, whether it is the first
  unpad,          // (a): args the dimensions of what it holds; what lies beyond them has to be zero
  last_rows,  // (a): args how many: those of the last position of each sequence. All where there are no more
  part,     // (a): one of several that a projection gives at once. args which, along which dimension, of how
            // many ranks, of how many heads (0: they stand behind each other), the widths of all on one rank.
            // All of it where the widths do not fit
  experts,  // (a, b, …, what each was given, what the block was given): args how many experts. Their rows,
            // one expert behind the other, each in the order of tokens; without the second half as they are
};

// Whether the statistics of what is made can be told from those of what it is made of.
constexpr bool keeps_statistics(PlanOp op) {
  return op != PlanOp::last_rows && op != PlanOp::part && op != PlanOp::experts;
}

inline constexpr int64_t kLastDimension = -1;

// Which of the args is which.
enum CutArg : size_t { kCutDimension, kCutFirst, kCutCount };
enum JoinArg : size_t { kJoinDimension };
enum WeightArg : size_t { kMayBeTransposed, kIsTransposed };
enum AnglesArg : size_t { kAreSines, kPositionsAtHand };

struct PlanStep {
  PlanOp op;
  std::vector<int32_t> in;  // operands: the sources first, then the results of the steps
  std::vector<int64_t> args = {};
  std::vector<double> numbers = {};
};

// Whether a view shows elements in another order than they have, and not stretches of them alone.
bool turns_elements(std::span<const PlanStep> steps);

struct PlanSource {
  Side side;
  ItemId item;
};

// Empty: the item of the pair as it stands. Otherwise that item is the first source, and the last operand is
// what is compared.
struct Plan {
  std::vector<PlanSource> from;
  std::vector<PlanStep> steps;
  std::string name;  // in a report; empty: that of the item

  bool is_empty() const { return from.empty(); }
  const PlanStep* find_last(PlanOp op) const;  // null: none
  bool has(PlanOp op) const { return find_last(op) != nullptr; }
  // The sources that stand behind each other as they are: query, key, value. Empty: it is not made of
  // several.
  std::vector<PlanSource> parts() const;

  // Each appends a step that takes what the plan has made so far.
  void add(PlanOp op, std::vector<int64_t> args = {});
  void add_with(PlanOp op, const std::vector<PlanSource>& more, std::vector<int64_t> args = {});
  // Seen as the pieces of these widths that it holds along a dimension: other ranks hold a share of each.
  void cut_in_pieces(int64_t dimension, const std::vector<int64_t>& widths);
  int32_t last() const { return static_cast<int32_t>(from.size() + steps.size()) - 1; }
};

// Tensors of one side that stand behind each other along a dimension.
Plan joined_from(Side side, const std::vector<ItemId>& parts, int64_t dimension);
Plan as_it_stands(Side side, const ItemId& item);  // to add steps to

// How a tensor of the other side shows what one rank holds: the steps that the tensor which is seen goes
// through, none where it stands as it is, and how a row says that.
struct RankShare {
  std::vector<PlanStep> steps = {};
  std::string seen = {}, part = {};  // "golden[0:32]", "[0:32]"
};

// A tensor that several ranks of one side hold, all in one row: it is that of all of them unless what some
// rank holds fails; then each has its own.
struct RankShares {
  Side side = Side::mine;      // that has the ranks
  Side seen = Side::golden;    // whose tensor the steps are for
  bool are_copies = false;     // each rank holds all of it
  int64_t dimension = -1;      // along which the shares stand behind each other; -1: they lie otherwise
  std::vector<ItemId> items;   // by rank
  std::vector<int64_t> ranks;  // their numbers
  std::shared_ptr<const std::vector<RankShare>> shares;  // of each; of copies one for all
  std::string note = {};  // PairPlans::note of a row of one rank, but for what is seen

  const RankShare& share(size_t i) const { return (*shares)[are_copies ? 0 : i]; }
  Side other() const { return other_side(side); }
};

// Of the two sides of a pair.
struct PairPlans {
  Plan mine, golden;
  std::shared_ptr<const RankShares> ranks = {};  // null: one tensor against one; else both plans are empty
  bool is_guess = false;       // that they are one tensor: a cache may have grown since the graph was drawn
  std::string note = {};       // how they were found to be a pair; empty: the reason says enough
  bool is_unsure = false;      // other tensors, or other ways to lay them out, fit as well
  bool is_one_rank = false;    // other ranks hold the rest, and are not there
  bool is_other_rank = false;  // the two are of ranks of different numbers
  std::string lacks = {};      // which rank is there, and lacks its share; empty: none
  // What names or other layers say against the pair, though the data speak for it; empty: nothing.
  std::string contradiction = {};

  Plan& of(Side side) { return side == Side::mine ? mine : golden; }
  const Plan& of(Side side) const { return side == Side::mine ? mine : golden; }
  bool is_empty() const {
    return mine.is_empty() && golden.is_empty() && !is_guess && note.empty() && contradiction.empty() &&
           !is_one_rank && !is_other_rank && lacks.empty() && ranks == nullptr;
  }
  // Nobody is to blame where the sides cannot be made comparable: no dump says for certain that they can.
  bool may_not_fit() const;
};

// Plans of rows that are only made where one row for all ranks will not do. Any thread.
class LatePlans {
 public:
  const PairPlans* keep(PairPlans plans) {
    const std::lock_guard lock(guard_);
    return &plans_.emplace_back(std::move(plans));
  }

 private:
  std::mutex guard_;
  std::deque<PairPlans> plans_;
};

}  // namespace assay

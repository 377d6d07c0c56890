// What the matchers of compiled graphs share: the tensors of operators by number, lists of tensors paired in
// order, and the way from operators to the pairs of a report.
#pragma once

#include "assay/match/compiled/torchair_sections.h"
#include "assay/match/pairing_builder.h"
#include "assay/model/origins.h"

#include <unordered_map>

namespace assay {

// What is known of a tensor without looking into it.
struct Outline {
  enum class Kind : uint8_t { unknown, whole, real };
  Kind kind = Kind::unknown;
  int64_t elements = -1;  // -1: unknown
};
bool may_be_same(const Outline& a, const Outline& b);

// One side of a pair of frames.
class GraphOps {
 public:
  GraphOps(const PairingBuilder& builder, Side side, int32_t frame);

  struct Op {
    std::string_view name, type;
    std::vector<size_t> inputs, outputs;  // positions in PairingBuilder::items, by number
    size_t first = 0;                     // position of its first tensor
    size_t node = 0;                      // of the frame
  };
  const std::vector<Op>& all() const { return ops_; }  // in execution order
  const Op* find(std::string_view name) const;
  const Item& item(size_t position) const { return builder_.item(side_, position); }
  bool is_range(size_t position) const;  // the smallest and the largest element are all that is left of it
  Outline outline(size_t position) const;
  const fs::path& file(const Op& op) const;
  // The operators of the graph that it was made of; the graph may be that of the other side.
  std::vector<int32_t> origins(const Op& op, const Graph& graph) const;

 private:
  const PairingBuilder& builder_;
  const Side side_;
  const Frame& frame_;
  std::vector<Op> ops_;
  std::unordered_map<std::string_view, size_t> by_name_;
};

// The frame of golden that was taken at the token of this frame of mine. by_token: also where each side has
// but one, of whatever token.
std::optional<int32_t> partner_of(const Indexed& frames, const Frame& mine, bool by_token);

inline constexpr size_t kNotDumped = static_cast<size_t>(-1);

struct TensorPair {
  size_t mine, golden;  // kNotDumped: of golden, where its place in a list is known
  Why why;
  bool golden_is_mine = false;  // own_input: `golden` is a position of mine
};

// The pairs of one operator of mine: those of inputs, then those of outputs.
struct OpPairs {
  const GraphOps::Op* op;
  std::vector<TensorPair> pairs = {};
};

// As many on both sides: one by one, of golden kNotDumped left out. Otherwise in order, those that may be the
// same; the rest is left alone.
void pair_lists(const GraphOps& mine, const std::vector<size_t>& of_mine, const GraphOps& golden,
                const std::vector<size_t>& of_golden, Why why, std::vector<TensorPair>& pairs);
// The most of both that can be paired in order.
std::vector<std::pair<size_t, size_t>> align(const std::vector<Outline>& a, const std::vector<Outline>& b);
// The k-th with the k-th, as long as there are any; what was not dumped counts too.
void zip_lists(const std::vector<size_t>& of_mine, const std::vector<size_t>& of_golden, Why why,
               std::vector<TensorPair>& pairs);

// How the two become comparable; null: they are, as they stand.
const PairPlans* plans_of(const PairingBuilder& builder, const TensorPair& pair, Pairing& pairing);
// Where an item lies, or what describes it; null: nowhere.
const fs::path* file_of(const Frame& frame, const Item& item);

// An operator that the compiler put in to change a type or a layout: what goes in comes out.
bool changes_form_only(const GraphOps::Op& op);
void pair_with_own_inputs(const GraphOps::Op& op, std::vector<TensorPair>& pairs);

// Every tensor of both sides in the order of mine.
Pairing all_pairs(PairingBuilder& builder, const std::vector<OpPairs>& ops);

}  // namespace assay

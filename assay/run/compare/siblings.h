// Tensors of the same role as one that is measured: in other layers, on other ranks. They are looked for
// only where something about that one is odd, so that a comparison in which nothing is costs nothing.
#pragma once

#include "assay/run/compare/contents.h"
#include "assay/run/compare/load.h"

#include <array>
#include <map>
#include <mutex>

namespace assay {

// Any thread. The answers do not depend on which is asked first.
class Siblings {
 public:
  // Both outlive this.
  Siblings(const Matched& matched, Loader& loader) : matched_(matched), loader_(loader) {}

  // What speaks against a pair whose shapes differ, though the data show how it lies: others of its role that
  // have as many elements and do not lie so. Empty: nothing.
  std::string objection_to(const Pair& pair);

  // What another rank holds of the same tensor, where its type is another one: "bf16 on rank 1 of mine, and
  // f32 on rank 0". Empty where the name tells no rank, or all types are one.
  std::string other_types(Side side, const ItemId& item, DType own);

 private:
  struct LaidOut {
    const Pair* pair;
    Shape mine, golden;
    bool is_constant = false;
    std::vector<Arrangement> layout;
  };
  using PairId = std::array<int32_t, 6>;
  using Family = std::map<PairId, std::string>;  // objections, of those that do not stand as they are

  static PairId id_of(const Pair& pair);
  std::string role_of(const Pair& pair) const;
  const Family& family_of(const std::string& role);
  std::optional<LaidOut> lay_out(const Pair& pair);
  static void hold_against_each_other(const std::vector<const LaidOut*>& alike, Family& family);

  const Matched& matched_;
  Loader& loader_;
  std::mutex guard_;
  bool is_indexed_ = false;
  std::map<std::string, std::vector<const Pair*>> pairs_;  // by role
  std::map<std::string, Family> families_;

  struct OnRank {
    ItemId item;
    int64_t rank;
    std::optional<DType> dtype = {};
    bool was_read = false;
  };
  // By name and stage of a pipeline; empty until it is asked for.
  std::map<std::string, std::vector<OnRank>> ranks_[2];
  bool has_ranks_[2] = {false, false};
};

}  // namespace assay

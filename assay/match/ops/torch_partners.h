// Which tensors of torch have the numbers of one of ATB, and what has to be done to them.
#pragma once

#include "assay/match/pairing_builder.h"

#include <optional>
#include <vector>

namespace assay {

// Torch has a table of angles for all positions, ATB those at hand.
struct RowsOfAngles {
  size_t lengths;  // position of the item of ATB that counts the positions of each sequence
  bool are_sines;
  int64_t rows;  // at hand
};

struct WeightOf {
  bool is_projection, is_transposed;  // which ATB may hold transposed, and as its operator says does
};

// Torch computes several at once: queries, keys and values. Of ATB every rank has its share of each.
struct FusedParts {
  std::vector<int64_t> widths;         // of each, on one rank of ATB
  int64_t ranks = 1;                   // of ATB
  int64_t heads = 0;                   // > 0: they lie head by head; of all ranks
  int which = -1;                      // -1: all of them
  int64_t dimension = kLastDimension;  // along which they stand behind each other
};

// The rows of all experts, one expert behind the other.
struct RowsOfExperts {
  size_t experts = 0;               // so many of the positions each: of gates, then of what they gate
  std::vector<size_t> inputs = {};  // what each expert was given, and
  std::optional<size_t> all = {};   // what the block was: they tell which token a row is of
};

// One tensor, or several behind each other, or some rows or columns of one.
struct Partners {
  std::vector<size_t> positions;
  std::optional<RowsOfAngles> angles = {};
  std::optional<WeightOf> weight = {};
  std::optional<FusedParts> fused = {};
  std::optional<RowsOfExperts> experts = {};
  int64_t last_rows = 0;     // > 0: ATB has so many, those of the last positions
  bool are_terms = false;    // of ATB: its ranks add them up later
  bool may_not_fit = false;  // their shapes tell, which are not known before the files are opened
};

// Of the side of torch; empty: as it stands.
Plan plan_of_torch(const PairingBuilder& builder, Side torch_side, const Partners& partners);

}  // namespace assay

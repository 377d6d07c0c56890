// What an operator should have given, computed from what it was given. One file per operator or family;
// table.cc lists the families. What each computes, and how far honest arithmetic may be off:
// docs/operators.md
#pragma once

#include "assay/golden/params.h"
#include "assay/tensor/expected.h"

#include <functional>
#include <span>
#include <string_view>
#include <vector>

namespace assay {

// Which processor ran the operator: they lay out weights and caches differently.
enum class Soc : uint8_t {
  unknown,      // to be told from shapes: a cache or weight of four dimensions in blocks of 16 is of the 310P
  ascend_910b,  // rows as they are (ND)
  ascend_310p,  // blocks of 16 columns, 32 of int8 (FRACTAL_NZ)
};

// A run of an operator on some rank.
struct RankCall {
  std::vector<OpParam> params;
  std::function<Result<OperandPtr>()> first_input;
  bool is_own = false;  // it is the one that is checked
};

// One run of an operator.
struct GoldenCall {
  std::string_view type;  // "LinearOperation"
  GoldenParams params;
  std::vector<OperandPtr> in;
  // Of the tensors that it wrote, as far as they are known: types that parameters do not tell, extents that
  // depend on the data. Never values.
  std::vector<TensorMeta> out = {};
  Soc soc = Soc::unknown;
  int rank = 0;  // this one's number
  // What another rank was given. Null: only this rank is known.
  std::function<Result<std::vector<OperandPtr>>(int rank)> in_of_rank = {};
  // What it was told there. Null: as above.
  std::function<Result<std::vector<OpParam>>(int rank)> params_of_rank = {};
  // The runs of another type on a rank, in their order. Null: as above.
  std::function<Result<std::vector<RankCall>>(int rank, std::string_view type)> calls_on_rank = {};
  // What comes to the same on every one of so many ranks: made by the first that asks, kept for the others
  // where there is room. Null: each makes it.
  std::function<Result<Expected>(int ranks, const std::function<Result<Expected>()>& make)> of_all_ranks = {};
  int64_t memory = int64_t{2} << 30;  // bytes that the computation may hold at once
};

using GoldenOutputs = std::vector<Expected>;

// Errors: `mismatch` where tensors do not fit the operator (count, shape, type, an index out of range),
// `bad_argument` for parameters, `unsupported` where no golden can exist (the message says why), `not_found`
// where a rank is missing, `limit` for memory.
// Of an operator that writes into its inputs: what a dump of them may and may not tell.
struct InPlace {
  // The inputs that hold the results afterwards, in the order of the golden; empty: it has outputs.
  std::span<const int> results = {};
  // It leaves the rest of them as it was: a dump from afterwards does not tell what it wrote there by
  // mistake.
  bool leaves_rest = false;
  // The input that it adds to, which may be where it writes: what that was before is needed. Null: none.
  std::optional<size_t> (*added_to)(const GoldenParams& params) = nullptr;
};

struct GoldenOp {
  std::string_view type;
  Result<GoldenOutputs> (*compute)(const GoldenCall& call);
  std::string_view meaning;  // one line, for docs and --help
  InPlace in_place = {};
  std::string_view no_output = {};  // why there is nothing to check where it has none
};

const GoldenOp* find_golden_op(std::string_view type);  // null: there is none for this type
std::vector<const GoldenOp*> golden_ops();              // all, by type

}  // namespace assay

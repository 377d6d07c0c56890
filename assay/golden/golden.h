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
};

const GoldenOp* find_golden_op(std::string_view type);  // null: there is none for this type
std::vector<const GoldenOp*> golden_ops();              // all, by type

// Before the first is computed: the library that multiplies matrices. An error says what to install.
Result<void> load_blas();

}  // namespace assay

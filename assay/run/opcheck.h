// assay opcheck: every operator of a dump against what it should have given. A comparison like any other, in
// which golden operators run on the inputs that mine dumped.
#pragma once

#include "assay/match/ops/golden_op.h"
#include "assay/run/compare/compare.h"

namespace assay {

struct OpcheckPlace {
  fs::path dump;      // of all ranks, one of them, or one of its tokens
  std::string below;  // the operator that is meant; empty: all of them
};

// A dump, a rank, a token, or the folder of one operator in one.
OpcheckPlace locate_operators(const fs::path& path);

// --csv: a table of operators says which of them are checked, and what those were told of which the dump has
// no parameters.
Result<void> select_by_table(const fs::path& table, OpSelection& selection, GoldenOptions& golden);

// Turns a request for comparing into one that checks the operators of request.mine.
void check_operators(OpSelection selection, CompareRequest& request);

}  // namespace assay

// Rows that were compared by what the dumps say of them. The bounds: docs/rules.md, "Rows compared by
// statistics".
#pragma once

#include "assay/judge/judge.h"

namespace assay {

// Both sides of the row state something.
Verdict judge_stated(const Comparison& row, const Head& head, const ModelPlace& place);

}  // namespace assay

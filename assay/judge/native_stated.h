// Rows that were compared by what the dumps say of them. The bounds: docs/rules.md, "Rows compared by
// statistics".
#pragma once

#include "assay/judge/judge.h"

namespace assay {

inline constexpr std::string_view kNothingStated =
    "the dumps state no finite number of both sides: there is nothing to compare";

// Both sides of the row state something.
Verdict judge_stated(const Comparison& row, const Head& head, const ModelPlace& place);

// Why the two cannot be the same bits although their checksums say so: one of the dumps is wrong. Nothing
// where the checksums are not what the row was compared by.
std::optional<std::string> contradicts_checksum(const Comparison& row, const Head& head,
                                                const ModelPlace& place);

// Reason to fail: NaN or infinities that only one side has, as far as the two say.
std::optional<std::string> differ_in_nonfinite(const Stated& mine, const Stated& golden);

}  // namespace assay

// Rows that were compared by what the dumps say of them. The bounds: docs/rules.md, "Rows compared by
// statistics".
#pragma once

#include "assay/judge/judge.h"

namespace assay {

inline constexpr std::string_view kNothingStated =
    "the dumps state no finite number of both sides: there is nothing to compare";

inline constexpr std::string_view kNonfiniteValue = "NaN or infinite on both sides, which shows nothing";

// Of values that files hold beside their tensors. if_other: what it is that they differ.
Verdict judge_value(const Comparison& row, Level if_other);

// Both sides of the row state something. times: as many times the tolerance are allowed (stated_errors.h).
Verdict judge_stated(const Comparison& row, const Head& head, const ModelPlace& place, double times = 1);

// Why one of the dumps must be wrong: more NaN than elements, or equal checksums beside other statistics.
// Nothing of rows that are not compared by what the dumps state.
std::optional<std::string> contradiction_in(const Comparison& row, const Head& head, const ModelPlace& place);

// Nothing but checksums was compared, and they differ.
bool differ_by_checksum(const Comparison& row);

// Reason to fail: NaN or infinities that only one side has, as far as the two say.
std::optional<std::string> differ_in_nonfinite(const Stated& mine, const Stated& golden);

}  // namespace assay

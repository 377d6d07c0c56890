// The angles of a rotary embedding: torch computes them for all positions, ATB dumps those of one.
#pragma once

#include "assay/tensor/operand.h"

namespace assay {

enum class Angles : uint8_t { cosines, sines };

// The row for the last of `length` positions: of a table [batch, heads, positions, n] or
// [batch, positions, heads, n], or of one with both kinds of angles, [positions, n, kind]. What is no such
// table, or too short, is given back as it is.
Result<OperandPtr> row_of_angles(OperandPtr table, int64_t length, Angles which);

// [1, 2n] where every column stands twice becomes [1, n]; anything else is given back as it is.
Result<OperandPtr> without_repeated_columns(OperandPtr row);

}  // namespace assay

// The angles of a rotary embedding: torch computes them for all positions, ATB dumps those of one.
#pragma once

#include "assay/tensor/operand.h"

#include <span>

namespace assay {

enum class Angles : uint8_t { cosines, sines };

// How many of the positions of a table are compared with anything: 0 of 0 where it stands as it is.
struct PositionsTaken {
  int64_t taken = 0, of = 0;
  bool are_some() const { return taken < of; }
};

struct TakenAngles {
  OperandPtr rows;
  PositionsTaken positions = {};
};

// The row for the last of `length` positions: of a table [batch, heads, positions, n] or
// [batch, positions, heads, n], or of one with both kinds of angles, [positions, n, kind]. What is no such
// table, or too short, is given back as it is.
Result<TakenAngles> row_of_angles(OperandPtr table, int64_t length, Angles which);

// The rows of the positions at hand, `rows` in all: sequence i has seen lengths[i] positions. They are all of
// these, sequence by sequence, where they add up to that (a prompt), else as many of the last ones of each.
// The table is [positions, n], with dimensions of 1 anywhere in front of n, or [positions, n, kind]; what is
// no such table, or too short, is given back as it is.
Result<TakenAngles> rows_of_angles(OperandPtr table, std::span<const int64_t> lengths, int64_t rows,
                                   Angles which);

// [m, 2n] where every column stands twice becomes [m, n]; anything else is given back as it is.
Result<OperandPtr> without_repeated_columns(OperandPtr row);

}  // namespace assay

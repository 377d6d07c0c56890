// Ways in which the elements of a tensor may lie in those of the other side: transposed, as a slice, every
// third block of rows. Shapes alone say which are possible; the data say which it is (solve.h).
#pragma once

#include "assay/tensor/operand.h"

#include <span>

namespace assay {

// Elements of one tensor, by strides.
struct Piece {
  size_t source = 0;  // which of the tensors
  int64_t base = 0;
  std::vector<int64_t> dims, strides;

  int64_t count() const;
  int64_t place(int64_t index) const;  // in the source, of the index-th element of the piece
};

// One tensor, seen in those of the other side.
struct Arrangement {
  std::vector<Piece> pieces;  // behind each other along the first dimension
  std::string text;           // "{}.T", "{}[0:2048]", where {} is the side; empty: as it is

  struct Place {
    size_t source;
    int64_t index;
  };
  std::string text_of(std::string_view side) const;
  Place place(int64_t index) const;  // of an element, in row-major order
};

// All of `part` in all of `whole`. The simplest first.
std::vector<Arrangement> rearrangements(const Shape& part, const Shape& whole);

enum class PartOrder : uint8_t {
  any,       // the parts of a fused tensor may stand in any
  as_given,  // ranks have one
};

// Several tensors that fill one, or several of one shape: each inner list has an arrangement of every part.
// `sources` > 1: every source holds its share of every part, as ranks do.
std::vector<std::vector<Arrangement>> partitions(std::span<const Shape> parts, const Shape& whole,
                                                 size_t sources = 1, PartOrder order = PartOrder::any);

}  // namespace assay

// Ways in which the elements of a tensor may lie in those of the other side: transposed, as a slice, every
// third block of rows. Shapes alone say which are possible; the data say which it is (solve.h).
#pragma once

#include "assay/tensor/operand.h"

#include <optional>
#include <span>

namespace assay {

// Elements of one tensor, by strides.
struct Piece {
  size_t source = 0;  // which of the tensors
  int64_t base = 0;
  std::vector<int64_t> dims, strides;

  int64_t count() const;
  int64_t place(int64_t index) const;  // in the source, of the index-th element of the piece
  friend bool operator==(const Piece&, const Piece&) = default;
};

// Not all of the elements at hand: a stretch of each dimension.
struct Window {
  std::vector<int64_t> of;            // the dimensions of all
  std::vector<int64_t> first, count;  // the stretches
  bool is_padded = false;             // what lies outside is padding: it has to be zero

  int64_t place(int64_t index) const;  // of an element of the window, among all
  friend bool operator==(const Window&, const Window&) = default;
};

// One tensor, seen in those of the other side.
struct Arrangement {
  std::vector<Piece> pieces;          // behind each other along the first dimension
  std::string text;                   // "{}.T", "{}[0:2048]", where {} is the side; empty: as it is
  std::optional<Window> window = {};  // nothing: all that the pieces hold
  std::optional<Piece> order = {};    // of what was so far seen; nothing: as it is
  // The width of the heads whose rotary pairs are set apart, or, negative, whose halves are interleaved; 0:
  // neither.
  int64_t rotary = 0;
  bool is_regrouped =
      false;  // parts that stand behind each other on one side lie group by group on the other

  struct Place {
    size_t source;
    int64_t index;
  };
  bool lies_as(const Arrangement& other) const {
    return pieces == other.pieces && window == other.window && order == other.order;
  }
  std::string text_of(std::string_view side) const;
  Place place(int64_t index) const;  // of an element, in row-major order
};

// All of `part` in all of `whole`, or in all but its padding. The simplest first.
std::vector<Arrangement> rearrangements(const Shape& part, const Shape& whole);
// `part` in a longer tensor, rounded up to a multiple of 8 or more, of which `sources` ranks hold a share
// each.
std::vector<Arrangement> without_padding(const Shape& part, const Shape& whole, size_t sources = 1);

enum class PartOrder : uint8_t {
  any,       // the parts of a fused tensor may stand in any
  as_given,  // ranks have one
};

// Several tensors that fill one, or several of one shape: each inner list has an arrangement of every part.
// `sources` > 1: every source holds its share of every part, as ranks do.
std::vector<std::vector<Arrangement>> partitions(std::span<const Shape> parts, const Shape& whole,
                                                 size_t sources = 1, PartOrder order = PartOrder::any);
// … of which `shares` ranks hold a share each: first all shares of the first part.
std::vector<std::vector<Arrangement>> shared_partitions(std::span<const Shape> parts, const Shape& whole,
                                                        size_t shares);

}  // namespace assay

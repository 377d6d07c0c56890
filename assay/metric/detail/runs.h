// How the elements of a tensor are walked through for its detail: in runs, whose places are those of the
// innermost dimensions, while the indices of the outer ones stand still.
#pragma once

#include "assay/tensor/operand.h"

#include <array>
#include <vector>

namespace assay::detail {

// Entries of one dimension: index / step. An inner one is told from the place within a run.
struct WalkedDimension {
  int64_t size = 1, step = 1;
  bool is_inner = false;
  int64_t stride = 1;  // of an inner one, in places
  int64_t entries() const { return (size + step - 1) / step; }
};

// Places [first, last) of a run, and what they add to the number of a block of the map.
struct MapPart {
  int64_t first, last;
  int32_t block;
};

class Walk {
 public:
  // rows, columns: dimensions of the map; -1: it has none.
  Walk(const Shape& shape, int64_t components, int rows, int columns);

  std::span<const WalkedDimension> dimensions() const { return dimensions_; }
  int64_t longest_run() const { return chunk_ * inner_; }
  // Places are counted in groups, so that no table grows with the tensor.
  int64_t group() const { return group_; }
  int64_t groups() const { return (longest_run() + group_ - 1) / group_; }
  std::span<const MapPart> map_parts() const { return map_parts_; }  // in groups
  int rows() const { return rows_; }
  int columns() const { return columns_; }
  int64_t map_rows() const { return rows_ < 0 ? 1 : blocks(rows_); }
  int64_t map_columns() const { return columns_ < 0 ? 1 : blocks(columns_); }
  int64_t map_step(int dimension) const { return map_steps_[static_cast<size_t>(dimension)]; }
  // Which entry of an inner dimension a group belongs to.
  int64_t entry_of(size_t dimension, int64_t group) const;

  // Where a run is.
  class At {
   public:
    At(const Walk& walk, int64_t component);
    int64_t place() const { return place_; }
    int64_t left() const { return length_ - place_; }  // components
    int64_t entry(size_t dimension) const {            // of an outer one
      return index_[dimension] / walk_.dimensions_[dimension].step;
    }
    int32_t block() const { return block_; }  // what the outer dimensions add to the number of a block
    void pass(int64_t components);            // at most left()

   private:
    void settle();
    const Walk& walk_;
    std::vector<int64_t> index_;
    int64_t place_ = 0, length_ = 0;
    int32_t block_ = 0;
  };
  size_t outer() const { return outer_; }  // dimensions [0, outer()) are outer ones

 private:
  int64_t blocks(int dimension) const {
    const WalkedDimension& d = dimensions_[static_cast<size_t>(dimension)];
    return (d.size + map_step(dimension) - 1) / map_step(dimension);
  }

  std::vector<WalkedDimension> dimensions_;
  std::vector<int64_t> map_steps_;
  size_t outer_ = 0;
  int64_t inner_ = 1;  // components of all inner dimensions
  int64_t chunk_ = 1;  // indices of the last outer dimension that one run holds
  int64_t group_ = 1;
  int rows_, columns_;
  std::vector<MapPart> map_parts_;
};

}  // namespace assay::detail

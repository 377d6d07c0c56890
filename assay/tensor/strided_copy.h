// Copies boxes of elements between two strided places in memory: the inner loop of everything that gathers.
#pragma once

#include "assay/base/bytes.h"

#include <cstdint>
#include <vector>

namespace assay {

// One dimension of a box: how many steps, and how far a step goes on either side, in elements. Strides may be
// negative, and `from` may be 0 (one element copied to many places).
struct CopyDim {
  int64_t extent = 1;
  int64_t from = 0;
  int64_t to = 0;
};

// Walks the indices of a box, the last dimension fastest, and keeps the two offsets that belong to the index.
class BoxWalk {
 public:
  explicit BoxWalk(std::vector<CopyDim> dims) : dims_(std::move(dims)), index_(dims_.size(), 0) {}
  int64_t from() const { return from_; }
  int64_t to() const { return to_; }
  bool next();  // false after the last index

 private:
  std::vector<CopyDim> dims_;
  std::vector<int64_t> index_;
  int64_t from_ = 0, to_ = 0;
};

// `from` and `to` point at the elements of index (0, 0, …). Element size 1, 2, 4, 8 or 16; no alignment
// needed. Blocked, so that a transposition touches whole cache lines on both sides.
void copy_strided(int64_t element_size, const std::byte* from, std::byte* to, std::vector<CopyDim> dims);

}  // namespace assay

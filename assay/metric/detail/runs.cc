#include "assay/metric/detail/runs.h"

#include <algorithm>

namespace assay::detail {
namespace {

constexpr int64_t kMostPlaces = int64_t{1} << 15;   // of a run: what tables of them hold
constexpr int64_t kMostEntries = int64_t{1} << 13;  // of an outer dimension
constexpr int64_t kMostBlocks = 64;                 // along one side of the map
constexpr int64_t kGroupOf = 16;                    // groups are multiples of it: a turn of the kernels

int64_t divided_up(int64_t a, int64_t b) { return (a + b - 1) / b; }

}  // namespace

Walk::Walk(const Shape& shape, int64_t components, int rows, int columns) : rows_(rows), columns_(columns) {
  for (const int64_t size : shape.dims) dimensions_.push_back({size, 1, false, 1});
  inner_ = components;
  outer_ = dimensions_.size();
  // As many of the innermost as fit, but at least the last.
  while (outer_ > 0 &&
         (outer_ == dimensions_.size() || inner_ * dimensions_[outer_ - 1].size <= kMostPlaces)) {
    WalkedDimension& d = dimensions_[--outer_];
    d.is_inner = true;
    d.stride = inner_;
    inner_ *= d.size;
  }
  if (inner_ > kMostPlaces) {
    group_ = divided_up(divided_up(inner_, kMostPlaces), kGroupOf) * kGroupOf;
    dimensions_.back().step = group_ / components;
  }
  for (size_t i = 0; i < outer_; ++i)
    dimensions_[i].step = std::max<int64_t>(1, divided_up(dimensions_[i].size, kMostEntries));
  if (outer_ > 0) {  // a run that lies within one entry anyway may take several rows
    const int64_t step = dimensions_[outer_ - 1].step;
    for (chunk_ = std::max<int64_t>(1, std::min(step, kMostPlaces / inner_)); step % chunk_ != 0;) --chunk_;
  }
  for (const WalkedDimension& d : dimensions_) {
    const int64_t least = std::max<int64_t>(1, divided_up(d.size, kMostBlocks));
    map_steps_.push_back(divided_up(least, d.step) * d.step);
  }
  for (int64_t at = 0; at < groups(); ++at) {
    int64_t block = 0;
    for (const int dimension : {rows_, columns_}) {
      if (dimension < 0) continue;
      const auto i = static_cast<size_t>(dimension);
      const int64_t weight = dimension == rows_ && dimension != columns_ ? map_columns() : 1;
      if (dimensions_[i].is_inner)
        block += entry_of(i, at) * dimensions_[i].step / map_step(dimension) * weight;
    }
    const auto number = static_cast<int32_t>(block);
    if (map_parts_.empty() || map_parts_.back().block != number)
      map_parts_.push_back({at, at + 1, number});
    else
      map_parts_.back().last = at + 1;
  }
}

int64_t Walk::entry_of(size_t dimension, int64_t group) const {
  const WalkedDimension& d = dimensions_[dimension];
  return group * group_ / d.stride % d.size / d.step;
}

Walk::At::At(const Walk& walk, int64_t component) : walk_(walk), index_(walk.outer_) {
  int64_t row = component / walk.inner_;  // of all outer dimensions
  place_ = component % walk.inner_;
  for (size_t i = walk.outer_; i-- > 0;) {
    const int64_t size = walk.dimensions_[i].size;
    index_[i] = row % size;
    row /= size;
  }
  if (walk.outer_ > 0) {
    const int64_t within = index_.back() % walk.chunk_;
    index_.back() -= within;
    place_ += within * walk.inner_;
  }
  settle();
}

void Walk::At::settle() {
  int64_t rows = 1;
  if (!index_.empty())
    rows = std::min(walk_.chunk_, walk_.dimensions_[walk_.outer_ - 1].size - index_.back());
  length_ = rows * walk_.inner_;
  int64_t block = 0;
  for (const int dimension : {walk_.rows_, walk_.columns_}) {
    const auto i = static_cast<size_t>(dimension);
    if (dimension < 0 || i >= walk_.outer_) continue;
    block += index_[i] / walk_.map_step(dimension) * (dimension == walk_.rows_ ? walk_.map_columns() : 1);
  }
  block_ = static_cast<int32_t>(block);
}

void Walk::At::pass(int64_t components) {
  place_ += components;
  if (place_ < length_) return;
  place_ = 0;
  bool is_first = true;
  for (size_t i = walk_.outer_; i-- > 0; is_first = false) {
    index_[i] += is_first ? walk_.chunk_ : 1;
    if (index_[i] < walk_.dimensions_[i].size) break;
    index_[i] = 0;
  }
  settle();
}

}  // namespace assay::detail

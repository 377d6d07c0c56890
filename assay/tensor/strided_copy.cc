#include "assay/tensor/strided_copy.h"

#include "assay/base/result.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>

namespace assay {

bool BoxWalk::next() {
  for (size_t i = dims_.size(); i-- > 0;) {
    const CopyDim& dim = dims_[i];
    from_ += dim.from;
    to_ += dim.to;
    if (++index_[i] < dim.extent) return true;
    from_ -= dim.from * dim.extent;
    to_ -= dim.to * dim.extent;
    index_[i] = 0;
  }
  return false;
}

namespace {

// 16 elements of 4 bytes are one cache line; 16 lines on either side stay in the first-level cache whatever
// the strides.
constexpr int64_t kTile = 16;

template <int kSize>
void copy_plane(const std::byte* from, std::byte* to, const CopyDim& outer, const CopyDim& inner) {
  if (inner.from == 1 && inner.to == 1) {
    for (int64_t o = 0; o < outer.extent; ++o)
      std::memcpy(to + o * outer.to * kSize, from + o * outer.from * kSize,
                  static_cast<size_t>(inner.extent * kSize));
    return;
  }
  for (int64_t i0 = 0; i0 < inner.extent; i0 += kTile) {
    const int64_t i1 = std::min(i0 + kTile, inner.extent);
    for (int64_t o0 = 0; o0 < outer.extent; o0 += kTile) {
      const int64_t o1 = std::min(o0 + kTile, outer.extent);
      for (int64_t o = o0; o < o1; ++o) {
        const std::byte* source = from + (o * outer.from + i0 * inner.from) * kSize;
        std::byte* target = to + (o * outer.to + i0 * inner.to) * kSize;
        for (int64_t i = i0; i < i1; ++i) {
          std::memcpy(target, source, kSize);
          source += inner.from * kSize;
          target += inner.to * kSize;
        }
      }
    }
  }
}

using CopyPlane = void (*)(const std::byte*, std::byte*, const CopyDim&, const CopyDim&);

CopyPlane plane_copier(int64_t element_size) {
  switch (element_size) {
    case 1:
      return copy_plane<1>;
    case 2:
      return copy_plane<2>;
    case 4:
      return copy_plane<4>;
    case 8:
      return copy_plane<8>;
    case 16:
      return copy_plane<16>;
    default:
      return nullptr;
  }
}

// Sorted by step of the target, largest first; dimensions that continue each other on both sides become one.
std::vector<CopyDim> simplified(std::vector<CopyDim> dims) {
  std::erase_if(dims, [](const CopyDim& d) { return d.extent == 1; });
  std::stable_sort(dims.begin(), dims.end(),
                   [](const CopyDim& a, const CopyDim& b) { return std::abs(a.to) > std::abs(b.to); });
  std::vector<CopyDim> merged;
  for (const CopyDim& dim : dims) {
    if (!merged.empty() && merged.back().from == dim.from * dim.extent &&
        merged.back().to == dim.to * dim.extent)
      merged.back() = {merged.back().extent * dim.extent, dim.from, dim.to};
    else
      merged.push_back(dim);
  }
  return merged;
}

}  // namespace

void copy_strided(int64_t element_size, const std::byte* from, std::byte* to, std::vector<CopyDim> dims) {
  const CopyPlane copy = plane_copier(element_size);
  ASSAY_CHECK(copy != nullptr);
  dims = simplified(std::move(dims));
  // The inner dimension writes with the smallest step, the outer one of the plane reads with the smallest
  // step; where one dimension does both, the plane is completed by the next one.
  CopyDim inner, outer;
  if (!dims.empty()) {
    inner = dims.back();
    dims.pop_back();
  }
  if (!dims.empty()) {
    auto nearest = std::prev(dims.end());
    for (auto d = dims.begin(); d != dims.end(); ++d)
      if (d->from != 0 && std::abs(d->from) < std::abs(inner.from) &&
          std::abs(d->from) < std::abs(nearest->from))
        nearest = d;
    outer = *nearest;
    dims.erase(nearest);
  }
  BoxWalk walk(std::move(dims));
  do copy(from + walk.from() * element_size, to + walk.to() * element_size, outer, inner);
  while (walk.next());
}

}  // namespace assay

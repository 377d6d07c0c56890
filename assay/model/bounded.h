// What came of holding a tensor against what it should hold, element by element.
#pragma once

#include "assay/tensor/dtype.h"

#include <cstdint>

namespace assay {

struct Bounded {
  DType dtype = DType::f32;  // that the operator writes
  int64_t count = 0;
  int64_t unknown = 0;  // elements of which nobody can tell what they should be
  int64_t beyond = 0;   // elements that rounding does not explain
  double worst = 0;     // the largest error, in units of the bound of its element
  int64_t worst_at = -1;
  double mine = 0, expected = 0, bound = 0;  // of that element

  void merge(const Bounded& later) {
    dtype = later.dtype;
    count += later.count;
    unknown += later.unknown;
    beyond += later.beyond;
    if (later.worst_at < 0 || (worst_at >= 0 && !(later.worst > worst))) return;
    worst = later.worst;
    worst_at = later.worst_at;
    mine = later.mine;
    expected = later.expected;
    bound = later.bound;
  }
};

}  // namespace assay

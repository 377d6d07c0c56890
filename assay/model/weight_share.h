// How a weight of one side makes that of the other, which every rank may hold a share of, and which may lie
// transposed. Shapes alone are looked at.
#pragma once

#include "assay/tensor/operand.h"

#include <optional>
#include <vector>

namespace assay {

struct SharedWeight {
  // The whole one may be several matrices behind each other, each of which is shared out: their extents along
  // `out_dimension`, that of what the projection gives. Empty: it is one matrix.
  std::vector<int64_t> cuts = {};
  size_t out_dimension = 0;
  bool is_projection = true;   // else it is never transposed
  bool is_transposed = false;  // what is tried first; the operator says so
};

struct ShareFit {
  bool transposed = false;
  size_t axis = 0;      // of the result: the matrices stand behind each other, or the ranks, along it
  bool is_cut = false;  // every rank has a share; else every rank has all of it
};

// `whole`: the matrices of one side; `share`: what each of the `ranks` of the other holds. Nothing where no
// way fits.
std::optional<ShareFit> fit_share(const std::vector<Shape>& whole, const Shape& share, int64_t ranks,
                                  const SharedWeight& how);

// The shapes of the matrices that `how` cuts the whole one into; nothing where they are not all of it.
std::optional<std::vector<Shape>> cut_shapes(const Shape& whole, const SharedWeight& how);

}  // namespace assay

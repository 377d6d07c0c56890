// How a tensor of one side makes that of the other, where ranks hold shares of it, where it is several that
// stand behind each other, and where it may lie transposed. Shapes alone are looked at.
#pragma once

#include "assay/tensor/operand.h"

#include <optional>
#include <vector>

namespace assay {

struct ShareRules {
  size_t out_dimension = 0;  // along which the parts stand behind each other; the last where there are fewer
  bool may_be_transposed = false;  // a matrix
  bool is_transposed = false;      // what is tried first; the operator says so
  bool any_dimension = false;      // several parts may be shared out along another dimension, too
};

struct ShareFit {
  bool transposed = false;
  size_t out = 0;                 // of the result: the parts stand behind each other along it
  size_t axis = 0;                // … and the ranks along this one, where they hold shares
  bool parts_are_shares = false;  // every rank has a share of each part; else every rank has all of them
  bool other_is_share = false;    // likewise
};

// `parts`: what each of `part_ranks` of one side holds; `other`: what each of `other_ranks` of the other
// does. Nothing where no way fits.
std::optional<ShareFit> fit_shares(const std::vector<Shape>& parts, int64_t part_ranks, const Shape& other,
                                   int64_t other_ranks, const ShareRules& how);

// Whether pieces of these widths along a dimension are all of a tensor.
bool are_all_of(const std::vector<int64_t>& widths, const Shape& whole, int64_t dimension);

}  // namespace assay

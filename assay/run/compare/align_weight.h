// Weights that ranks share out, or that lie transposed, made comparable.
#pragma once

#include "assay/model/weight_share.h"
#include "assay/run/compare/align.h"

namespace assay {

struct AlignedWeight {
  OperandPtr whole, spread;
  std::string note;  // what was done; empty: nothing
};

// `whole`: the matrices of the side `whole_name`, which stand behind each other in `spread`, the other side.
// Nothing where the shapes do not fit.
Result<std::optional<AlignedWeight>> align_weight(const std::vector<OperandPtr>& whole,
                                                  std::string_view whole_name, const Spread& spread,
                                                  const SharedWeight& how);

// The matrices that one tensor holds; nothing where they are not all of it.
Result<std::optional<std::vector<OperandPtr>>> cut_weight(const OperandPtr& whole, const SharedWeight& how);

}  // namespace assay

// From the sums of the pass to what is drawn and to what a diagnosis is made from.
#pragma once

#include "assay/metric/detail/sums.h"
#include "assay/model/detail.h"
#include "assay/model/item_id.h"

namespace assay::detail {

// Errors along one dimension, as fine as they were gathered.
struct Profile {
  DetailAxis axis;
  ErrorTable errors;
  std::vector<int64_t> counts = {};  // components of each entry
};

// All that is known of a pair once the pass is over.
struct Looked {
  const Walk& walk;
  const DetailStart& start;
  const DetailSums& sums;
  const std::vector<Profile> profiles;  // one per dimension longer than 1
  DType mine, golden;
  const Shape& shape;
};

std::vector<Profile> profiles_of(const Walk& walk, const DetailSums& sums, int64_t components);

// Without the window and the diagnoses.
Detail draw(const Looked& looked);

}  // namespace assay::detail

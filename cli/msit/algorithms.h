// -alg of msit llm compare.
#pragma once

#include "assay/compat/msit/profile.h"
#include "assay/run/algorithms.h"
#include "assay/run/compare/compare.h"

namespace assay::cli {

// Starts what the functions run in, and has the request ask them and the table show them. The answer outlives
// the comparison; null where there are none.
inline Result<std::unique_ptr<Algorithms>> add_algorithms(const std::vector<std::string>& specs,
                                                          CompareRequest& request, MsitStyle& style) {
  if (specs.empty()) return nullptr;
  ASSAY_TRY(auto algorithms, Algorithms::start(specs, Algorithms::Given::flat_f32));
  request.algorithms = algorithms.get();
  style.algorithms = algorithms->names();
  return algorithms;
}

}  // namespace assay::cli

// --noise: a second run of mine tells how far two runs of the same program are apart.
#pragma once

#include "assay/run/compare/compare.h"

namespace assay::cli {

// Compares each of the further runs with mine, as `request` reads it. Nothing is reported of these
// comparisons but what they measure.
Result<std::shared_ptr<const NoiseTable>> measure_noise(const std::vector<std::string>& further_runs,
                                                        const CompareRequest& request);

}  // namespace assay::cli

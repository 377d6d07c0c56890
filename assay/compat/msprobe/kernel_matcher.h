// How msprobe pairs the files of kernel dumps.
#pragma once

#include "assay/match/matcher.h"

namespace assay {

extern const Matcher msprobe_kernel_matcher;  // by name; what only golden has stands behind everything else

}  // namespace assay

// Pairs items by a file that names them: "name of mine: name of golden".
#pragma once

#include "assay/match/matcher.h"

namespace assay {
extern const Matcher data_matcher;  // "data"
}  // namespace assay

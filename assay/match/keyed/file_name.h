// Files of the same name, in the order of mine; then what only golden has, then what only mine has.
#pragma once

#include "assay/match/matcher.h"

namespace assay {
extern const Matcher file_name_matcher;
}

// Every tensor of one dump by itself: nothing is compared, what each holds is looked at.
#pragma once

#include "assay/match/matcher.h"

namespace assay {

std::shared_ptr<const Matcher> by_itself_matcher();

}  // namespace assay

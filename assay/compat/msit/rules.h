// Rows as msit llm compare shows them: it passes no judgement, but says why a row has no numbers.
#pragma once

#include "assay/judge/judge.h"

namespace assay {
extern const RuleSet msit_rules;
}

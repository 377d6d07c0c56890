// The rules of `msit llm logitscmp`.
#pragma once

#include "assay/compat/msit/logits_row.h"
#include "assay/judge/judge.h"

namespace assay {

// A row with numbers passes (the word is "True") where the cosine is above its limit and the KL divergence
// and the distance of the L1 norms are below theirs, or where the largest logits are at most one ULP apart.
// A row without numbers has no word, and a reason.
RuleSet logitscmp_rules(const LogitsLimits& limits);

}  // namespace assay

// The rules of `msit llm logitscmp`.
#pragma once

#include "assay/judge/judge.h"

namespace assay {

// A row with numbers passes (the word is "True") where the cosine is above its limit and the KL divergence
// and the distance of the L1 norms are below theirs, or where the largest logits are at most one ULP apart.
// A row without numbers has no word, and a reason.
extern const RuleSet logitscmp_rules;

}  // namespace assay

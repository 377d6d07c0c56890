// The verdicts of msprobe: words, messages and colours of its three generations. Thresholds and texts stand
// in docs/scenarios/msprobe.md.
#pragma once

#include "assay/judge/judge.h"

namespace assay {

// Of a row that one side lacks: a failure, but for two frameworks, where it is a matter of what each of them
// dumps.
inline Level unmatched_level(const Head& head) { return head.cross_framework ? Level::ignored : Level::fail; }

extern const RuleSet msprobe_g1_rules;  // 1.1 on MindSpore
// 1.1 on PyTorch, and wherever a data mapping is given: it looks at the values that Python has, not at their
// texts.
extern const RuleSet msprobe_g1_python_rules;
extern const RuleSet msprobe_g2_rules;      // 8.x
extern const RuleSet msprobe_g3_rules;      // 26
extern const RuleSet msprobe_kernel_rules;  // kernel dumps, any generation
extern const RuleSet msprobe_atb_rules;     // rounds of ATB; there are no words in its table

}  // namespace assay

// The verdicts of msprobe: words, messages and colours of its three generations. Thresholds and texts stand
// in docs/scenarios/msprobe.md.
#pragma once

#include "assay/compat/msprobe/consistent_matcher.h"
#include "assay/compat/msprobe/row.h"
#include "assay/judge/judge.h"

namespace assay {

// Of a row that one side lacks: a failure, but for two frameworks, where it is a matter of what each of them
// dumps.
inline Level unmatched_level(const Head& head) { return head.cross_framework ? Level::ignored : Level::fail; }

struct MsprobeRuleStyle {
  // Generation 1 on PyTorch, and wherever a data mapping is given: it looks at the values that Python has,
  // not at their texts.
  bool as_python = false;
  bool highlight = false;                          // colour rows, and say why
  bool fuzzy = false;                              // remark on pairs whose names differ
  std::optional<TrainingBackend> consistent = {};  // training against inference
};

Judge prepare_msprobe_g3(const Head& head, std::optional<TrainingBackend> consistent = {});
RuleSet msprobe_rules(Generation generation, const MsprobeRuleStyle& style = {});  // 1.1, 8.x, 26
extern const RuleSet msprobe_kernel_rules;  // kernel dumps, any generation
extern const RuleSet msprobe_atb_rules;     // rounds of ATB; there are no words in its table

}  // namespace assay

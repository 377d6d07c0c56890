// The verdicts and the tables of msit llm opcheck and of its older name, ait llm opcheck.
#pragma once

#include "assay/judge/judge.h"
#include "assay/report/report.h"

#include <map>

namespace assay {

struct OpcheckStyle {
  bool is_first = false;  // the generation that reads its operators from a csv: its words, limits and clock
  bool abs = false, cosine = false, kl = false;  // further columns
  std::vector<std::string> algorithms = {};      // functions of the user: columns of their own
  // Parameters by ids, of operators that the dump has none of. Null: none.
  std::shared_ptr<const std::map<std::string, OpParams>> params = {};
};

RuleSet opcheck_rules(const OpcheckStyle& style);
Profile opcheck_profile(const OpcheckStyle& style);

}  // namespace assay

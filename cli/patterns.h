// Patterns that fit nothing are likely typing errors; who gave one is told.
#pragma once

#include "assay/dump/layout.h"
#include "assay/judge/judge.h"
#include "assay/report/report.h"

namespace assay::cli {

// Before a run: --only and --skip, and the note of which of them fit.
Result<void> choose_tensors(const std::vector<std::string>& only, const std::vector<std::string>& skip,
                            OpenOptions& open);
void warn_of_patterns_in_vain(const OpenOptions& open);  // after it
// As the user gave them, for the verdict; a list that no sentence has room for is cut.
std::string selection_text(const std::vector<std::string>& only, const std::vector<std::string>& skip);

// Warns at the end of a comparison of rules whose pattern fitted no row.
std::unique_ptr<Sink> watch_rules(const std::vector<Rule>& rules);

}  // namespace assay::cli

// Words that the answers to several questions have in common.
#pragma once

#include "assay/report/verdict_sentence.h"

#include <vector>

namespace assay {

std::string counted(int64_t count, std::string_view one, std::string_view many);  // "1 tensor", "3 tensors"
std::string tensors(int64_t count);
std::string joined(const std::vector<std::string>& clauses);  // "this; that"

// "max, min of 4 tensors"; "max of 4 tensors; min of some" where not all rows have the same.
std::string statistics_of(const Summary& summary, std::string_view tensors);

// Within the sentence, which ends with what `rest` has so far.
void add_selection(std::string_view selection, std::string& rest);

// Where numbers end: what is found of each tensor by itself.
VerdictSentence overflow_sentence(const Summary& summary);

}  // namespace assay

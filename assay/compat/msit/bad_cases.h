// Bad cases of msit: questions of a data set that one run of a model answers and the other does not. Two csv
// files of results are joined by question; those whose `passed` differs are the result.
#pragma once

#include "assay/base/file.h"

#include <string>
#include <vector>

namespace assay {

enum class BadCaseJoin : uint8_t {
  queries,  // llm analyze: by the text of the question
  key,      // llm bcanalyze: by its key, and by its text where golden has it; True is true is Correct
};

struct BadCases {
  std::vector<std::string> columns;
  std::vector<std::vector<std::string>> rows;          // in the order of golden, cells as the files have them
  int64_t golden_incomplete = 0, test_incomplete = 0;  // rows left out because a cell is empty
  int64_t unmatched = 0;                               // rows of golden whose question test does not have
  std::vector<std::string> some_unmatched;             // the first five of them
};

// A column `pass` counts as `passed`. A question that stands in both files several times gives a row for
// every pair, as in the original; more than kMostBadCases of them are an error.
inline constexpr size_t kMostBadCases = 10'000'000;
Result<BadCases> find_bad_cases(const fs::path& golden, const fs::path& test, BadCaseJoin join);

// Writes folder/name, or folder/name_2 where that is there; the file appears whole or not at all.
Result<fs::path> write_bad_cases(const BadCases& cases, const fs::path& folder, const std::string& name);

}  // namespace assay

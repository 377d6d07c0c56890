#include "cli/msit/analyze.h"

#include "assay/base/text.h"
#include "assay/compat/msit/bad_cases.h"
#include "assay/support/log.h"

#include <fmt/format.h>

namespace assay::cli {
namespace {

void log_incomplete(const fs::path& file, int64_t rows) {
  if (rows > 0) log::warn("{}: {} rows with empty cells are left out", display(file), rows);
}

Result<void> analyze(const fs::path& golden, const fs::path& test, BadCaseJoin join,
                     const std::string& name) {
  ASSAY_TRY_DO(check_csv(golden));
  ASSAY_TRY_DO(check_csv(test));
  log::info("Analyzing...");
  ASSAY_TRY(const BadCases cases, find_bad_cases(golden, test, join));
  log_incomplete(golden, cases.golden_incomplete);
  log_incomplete(test, cases.test_incomplete);
  if (cases.rows.empty()) {
    log::warn(
        "'Analyzer' detected that there is no difference between the given golden result and test result. "
        "Hence no result is saved");
  } else {
    ASSAY_TRY(const fs::path path, write_bad_cases(cases, fs::path("msit_bad_case") / "analyzer", name));
    log::info("'Analyzer' has successfully finished the analysis, the result is stored at '{}'",
              display(path));
  }
  if (cases.unmatched == 0) return {};
  std::string some;
  for (const std::string& each : cases.some_unmatched)
    some += fmt::format("{}'{}'", some.empty() ? "" : ", ", printable(each.substr(0, 80)));
  log::warn("There are '{}' quer(ies) not matched, below is a partial display of these unmatched {}: {}",
            cases.unmatched, join == BadCaseJoin::key ? "query's key" : "queries", some);
  return {};
}

int finish(const Result<void>& done, Tool tool) { return done ? 0 : end_msit(tool, done.error()); }

}  // namespace

ForeignCommand analyze_command() {
  return {"",
          {required_path_flag("--golden", "-g", "Golden result to compare with. It must be a valid csv path"),
           required_path_flag("--test", "-t",
                              "Test result to compare with the golden. It must be a valid csv path"),
           msit_log_level_flag()}};
}

int run_analyze(const Parsed& parsed, Tool tool, const Context& context) {
  return finish(analyze(parsed.value("--golden").value_or(""), parsed.value("--test").value_or(""),
                        BadCaseJoin::queries, beijing_stamp(context.now) + ".csv"),
                tool);
}

ForeignCommand bcanalyze_command() {
  return {"",
          {required_path_flag("--golden-path", "-gp",
                              "Golden result to compare with. It must be a valid csv path"),
           required_path_flag("--my-path", "-mp",
                              "My result to compare with the golden. It must be a valid csv path"),
           msit_log_level_flag()}};
}

int run_bcanalyze(const Parsed& parsed, Tool tool, const Context& context) {
  return finish(
      analyze(parsed.value("--golden-path").value_or(""), parsed.value("--my-path").value_or(""),
              BadCaseJoin::key, fmt::format("msit_bad_case_result_{}.csv", beijing_stamp(context.now))),
      tool);
}

}  // namespace assay::cli

#include "cli/sinks.h"

#include "assay/report/caller_rows.h"
#include "cli/commands.h"
#include "cli/did_you_mean.h"

#include <fmt/ranges.h>

#include <algorithm>

namespace assay::cli {

Result<void> add_sinks(const SinkFlags& flags, ReportSet& reports) {
  std::vector<std::string> names = split_list(flags.report);
  const bool to_stdout = flags.output == "-";
  const bool asked = !names.empty() || !flags.output.empty();
  if (names.empty())
    names = to_stdout ? std::vector<std::string>{"csv"}
            : asked   ? std::vector<std::string>{"csv", "terminal"}
                      : std::vector<std::string>{"terminal"};
  else if (!to_stdout && !flags.quiet && std::find(names.begin(), names.end(), "terminal") == names.end())
    names.emplace_back("terminal");
  if (flags.quiet) std::erase(names, "terminal");
  std::sort(names.begin(), names.end());
  names.erase(std::unique(names.begin(), names.end()), names.end());
  const fs::path folder = flags.output.empty() ? "." : flags.output;
  bool writes_files = false;
  if (to_stdout && names.size() > 1)
    return fail(ErrorKind::bad_argument, "--output - takes one report, not {}", fmt::join(names, ", "));
  for (const std::string& name : names) {
    const Output* output = find_output(name);
    if (output == nullptr) {
      std::vector<std::string> known;
      for (const Output* each : outputs()) known.emplace_back(each->name);
      return fail(ErrorKind::bad_argument, "--report: there is no report '{}'; there are: {}{}", name,
                  fmt::join(known, ", "), did_you_mean(name, known));
    }
    if (to_stdout && !output->to_stdout)
      return fail(ErrorKind::bad_argument,
                  "--report {}: cannot be written to standard output; give --output a folder", name);
    reports.add(output->open({folder, flags.profile}));
    writes_files |= !to_stdout && name != "terminal";
  }
  if (Caller* const caller = current_caller(); caller != nullptr && caller->takes_rows())
    reports.add(rows_for(*caller, *flags.profile));
  if (writes_files) reports.add(section_summary(folder, *flags.profile));
  return {};
}

}  // namespace assay::cli

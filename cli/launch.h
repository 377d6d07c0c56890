// Programs that are started with the probe in them: what `assay dump`, `assay errcheck` and their twins
// share.
#pragma once

#include "assay/run/launch/dump_settings.h"
#include "cli/commands.h"

namespace assay::cli {

// A line on stderr, which tells people and not scripts.
void say(std::string_view text);

// Runs the command, and gives its exit status; where it could not be run, 127 (there is none) or 126, as
// shells do, and a message.
int run_recorded(const std::vector<std::string>& command, const std::vector<EnvironmentChange>& environment);

// A program that is recorded; afterwards what was recorded is drawn, tabled and summed up. Gives its status.
Result<int> run_dump(const DumpSettings& settings, const std::vector<std::string>& command,
                     const Context& context);

// A program whose overflows are reported. Lines on stderr tell of them.
struct CheckedRun {
  int status = 0;  // of the program
  bool overflowed = false;
  bool has_spoilt_inputs = false;  // NaN or infinities came from outside
  bool is_unknown = false;         // a report could not be read
  bool was_asked = false;          // the probe, by ATB: else nothing was looked at
};
Result<CheckedRun> run_check(const fs::path& output, bool stops, std::string_view log_level,
                             const std::vector<std::string>& command);

}  // namespace assay::cli

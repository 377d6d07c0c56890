// Flags of every command that runs a comparison: where reports go, and what it may take.
#pragma once

#include "assay/run/compare/compare.h"
#include "cli/commands.h"
#include "cli/sinks.h"

#include <string>
#include <utility>
#include <vector>

namespace assay::cli {

struct RunFlags {
  std::vector<std::string> report;
  std::string output, memory, color = "auto";
  bool quiet = false;
  int threads = 0;

  SinkFlags sinks(const Profile* profile = &native_profile) const { return {report, output, quiet, profile}; }
  // The folder for reports that is made where it is not there; empty: none is.
  fs::path folder() const { return output == "-" ? fs::path() : fs::path(output); }
  bool writes(std::string_view name) const;  // this report
  // Nobody reads the verdict on the screen.
  bool shows_rows() const;  // to anybody: else the exit code is all
  bool is_unsaid() const { return quiet || output == "-"; }
};

void add_run_flags(CLI::App& command, RunFlags& flags);

// All but the memory, which is what files may take, or operators.
void set_run(const RunFlags& flags, const Context& context, CompareRequest& request);

// What the user chose by flags, as given, for the verdict: "--only 'a*' --skip 'b*'". A list that no sentence
// has room for is cut.
std::string given_text(std::vector<std::pair<std::string_view, std::vector<std::string>>> flags);

}  // namespace assay::cli

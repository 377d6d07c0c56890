// The reports that a user asks for with --report and --output.
#pragma once

#include "assay/report/report.h"

#include <string>
#include <vector>

namespace assay::cli {

struct SinkFlags {
  std::vector<std::string> report;  // names, several in one text too; empty: on the terminal, or csv as well
  std::string output;               // a folder; "-": standard output; empty: here
  bool quiet = false;               // nothing on the terminal
  const Profile* profile = &native_profile;
};

Result<void> add_sinks(const SinkFlags& flags, ReportSet& reports);

}  // namespace assay::cli

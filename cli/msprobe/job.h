// One comparison as msprobe was asked for it, whichever generation's words were used.
#pragma once

#include "assay/compat/msprobe/consistent_matcher.h"
#include "assay/compat/msprobe/profile.h"
#include "cli/commands.h"
#include "cli/mapping_flags.h"

#include <optional>

namespace assay::cli {

struct MsprobeJob {
  Generation generation = Generation::g2;
  bool is_pytorch = false;  // the framework of the command line, or of the target
  fs::path mine, golden, output;
  std::optional<fs::path> stack_path;
  bool stack_flag = false, advisor = true, fuzzy = false, highlight = false, row_log = true, csv = false;
  bool first_difference = false;
  std::optional<TrainingBackend> consistent;  // training against inference
  MappingFlag api, cell, layer;
  std::optional<std::string> data, config;
  bool kernels = false;  // rank_id was given
  std::vector<int> ranks, steps;
  // Ours.
  std::vector<std::string> reports;
  int threads = 0;
  int64_t memory = 0;
  bool trusted = false;
};

// Errors are those of the original, for its log.
Result<void> run_job(const MsprobeJob& job, const Context& context);

}  // namespace assay::cli

// msit llm compare, ait llm compare and msprobe compare -m torchair on dumps of compiled graphs.
#pragma once

#include "assay/base/result.h"
#include "cli/commands.h"

namespace assay::cli {

struct TorchairJob {
  fs::path mine, golden, output;
  std::vector<std::string> reports = {};  // of ours, beside the original's
  std::optional<int> rank = {};
  bool is_msprobe = false, is_ait = false;  // whose names
  bool trusted = false;
  std::vector<std::string> algorithms = {};  // "file.py:function"
};

// Whether this is how the originals tell such a dump: somewhere in it lies the text of a graph.
bool is_torchair_dump(const fs::path& path);

// Errors are those of the originals, for their log.
Result<void> compare_torchair(const TorchairJob& job, const Context& context);

}  // namespace assay::cli

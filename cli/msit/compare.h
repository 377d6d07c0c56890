// `msit llm compare`, as it was asked for.
#pragma once

#include "cli/commands.h"
#include "cli/msit/log.h"

#include <optional>

namespace assay::cli {

struct MsitCompareFlags {
  // layer, module and api in one workbook is what the original does when it is not told.
  enum class CompareLevel : uint8_t { all, layer, module, api, logits, token };

  fs::path golden, mine;  // both exist
  fs::path output = "./";
  bool wants_files = false;          // --output or --report was given
  std::vector<std::string> reports;  // of ours, beside the original's
  std::optional<fs::path> mapping;   // exists: op_mapping_file.json, or the folder that holds it
  CompareLevel level = CompareLevel::all;
  bool weight = false, stats = false, trusted = false;
  std::optional<int64_t> rank;
  std::vector<std::string> algorithms;  // "file.py:function"
};

// Logs in the form of `tool`; returns the exit code.
int run_msit_compare(const MsitCompareFlags& flags, Tool tool, const Context& context);

}  // namespace assay::cli

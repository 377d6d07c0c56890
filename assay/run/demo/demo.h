// assay demo: makes two dumps of a small transformer, one with a planted fault, and compares them.
#pragma once

#include "assay/base/clock.h"
#include "assay/base/file.h"
#include "assay/model/outcome.h"
#include "assay/run/compare/compare.h"

#include <string>
#include <vector>

namespace assay {

struct DemoDumps {
  fs::path mine, golden;
  int64_t tensors = 0;  // on each side
};

// mine/NNN_operator.pt in bf16 with the fault, golden/NNN_operator.npy in f32; NNN is the execution order.
Result<DemoDumps> write_demo_dumps(const fs::path& folder);

// A new folder of this name, or of the first of name_2, name_3, … that does not exist.
Result<fs::path> make_demo_folder(const fs::path& wanted);

struct DemoRequest {
  DemoDumps dumps;
  fs::path reports;  // folder of the csv, xlsx, json and html reports
  Moment now;
  std::string version, command_line;
  int terminal_width = 100;
  bool colour = false;
};

// Compares with the default rules; the terminal report goes to standard output.
Result<CompareOutcome> compare_demo_dumps(const DemoRequest& request);

// The planted fault is the first divergence, everything was compared, and nothing else went wrong.
bool found_planted_fault(const Summary& summary, const DemoDumps& dumps);

}  // namespace assay

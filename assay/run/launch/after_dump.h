// What is done, and said, when a program that was recorded has ended.
#pragma once

#include "assay/run/launch/capture_counts.h"

namespace assay {

struct DumpOutcome {
  std::vector<fs::path> folders;  // of dumps that the run wrote
  CaptureCounts counts;
  int64_t drawn = 0, tables = 0;  // topologies that became ONNX files, tables of CPU times
  bool only_descriptions = false;
  std::string choice = {};  // what tensors had to fit; empty: none were asked for
  std::vector<std::string> warnings;
};

DumpOutcome finish_dump(const DumpSettings& settings, const DumpRun& run);

// Lines for people: what was recorded, what was not, where it lies, and what to type next.
std::string text_of(const DumpOutcome& outcome);

// A table of what operations took of the CPU, in the place of the lines that the probe wrote. Answers its
// path.
Result<fs::path> tabulate_cpu_times(const fs::path& lines);

}  // namespace assay

// What is done, and said, when a program that was recorded has ended.
#pragma once

#include "assay/run/launch/dump_settings.h"

namespace assay {

// What became of what the probe was handed; -1: nobody counted.
struct CaptureCounts {
  int64_t tensors = 0, bytes = 0, filtered = -1, dropped = -1, lost = -1, lost_bytes = 0;
  std::string first_loss = {};
};

struct DumpOutcome {
  std::vector<fs::path> folders;  // of dumps that the run wrote
  CaptureCounts counts;
  int64_t drawn = 0, tables = 0;  // topologies that became ONNX files, tables of CPU times
  std::vector<std::string> warnings;
};

// named_by: the time in the name of the folder. started: when the program was; what is older was there
// before.
DumpOutcome finish_dump(const DumpSettings& settings, Moment named_by, Moment started, int64_t process);

// Lines for people: what was recorded, what was not, where it lies, and what to type next.
std::string text_of(const DumpOutcome& outcome);

// A table of what operations took of the CPU, in the place of the lines that the probe wrote. Answers its
// path.
Result<fs::path> tabulate_cpu_times(const fs::path& lines);

}  // namespace assay

// How much of what a program computed lies in its dump: as the probe counted it (capture.json,
// docs/capture.md), or, where it could not, by the files.
#pragma once

#include "assay/run/launch/dump_settings.h"

namespace assay {

struct CaptureCounts {
  int64_t tensors = 0, bytes = 0, lines = 0;  // lines: of tables
  int64_t statistics = 0;                     // of the tensors: those that have no data
  int64_t filtered = 0, dropped = 0, lost = 0, lost_lines = 0, lost_bytes = 0;
  std::string first_loss = {};
  bool is_counted = true;  // by the probe; else nobody knows what was filtered, dropped and lost
  struct CutOff {
    int64_t process = 0, waiting = 0;  // waiting: tensors, up to a second before
  };
  std::vector<CutOff> cut_off = {};  // processes that were ended from outside: their files were counted
  int64_t trimmed = 0;               // tables of these that ended with a part of a line, which was taken away
  std::vector<int64_t> running = {};  // processes that go on
};

// Adds what this run left in the folder of a dump. False: nothing.
bool add_counts(const fs::path& folder, const DumpRun& run, CaptureCounts& counts);

}  // namespace assay

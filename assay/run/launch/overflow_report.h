// What the check for overflows left behind: msit_overflow_res_{process}.txt, ait_overflow_res_{process}.txt.
#pragma once

#include "assay/base/file.h"

#include <ctime>

namespace assay {

struct OverflowReport {
  fs::path file;
  std::string first;         // operator that was reported
  int64_t count = 0;         // of all that were
  bool is_old_form = false;  // one record, written over those before: only the last is there
  std::string trouble;       // why nobody can tell what it reports; empty: it was read
};

// Those in the folder that are not older than `since` (of the clock that files are dated by,
// CLOCK_REALTIME_COARSE) and report something, or cannot be read, by name.
std::vector<OverflowReport> read_overflow_reports(const fs::path& folder, const timespec& since);

// Inputs that held NaN or infinities before any operator made some.
struct SpoiltInputs {
  int64_t count = 0;
  std::string first = {};
};
// As the probes of all processes of a check left it in the file that tells whether they were asked.
SpoiltInputs read_spoilt_inputs(const fs::path& asked);

std::string text_of(const std::vector<OverflowReport>& reports);  // lines for people; empty: no report

}  // namespace assay

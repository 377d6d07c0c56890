// The outputs there are.
#pragma once

#include "assay/report/report.h"

namespace assay {

// For Output::open.
template <class AnySink>
std::unique_ptr<Sink> open_sink(const SinkOptions& options) {
  return std::make_unique<AnySink>(options);
}

extern const Output csv_output;
extern const Output xlsx_output;
extern const Output json_output;
extern const Output jsonl_output;
extern const Output junit_output;
extern const Output sqlite_output;
extern const Output terminal_output;
extern const Output html_output;

}  // namespace assay

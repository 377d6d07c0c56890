// What the compare commands of msit share at the end of a run: reports of ours, and a word on what the table
// leaves out.
#pragma once

#include "assay/compat/msit/profile.h"
#include "assay/run/compare/compare.h"

namespace assay::cli {

// Keeps what the table leaves out, and the one row of two files.
class Witness : public Sink {
 public:
  Result<void> begin(const Head& head) override;
  std::string render(std::string_view, std::span<const NodeResult>) const override { return {}; }
  Result<void> write(std::string_view section, std::span<const NodeResult> nodes, std::string&&) override;
  Result<void> end(const Summary&) override { return {}; }

  bool all_levels = false;
  MsitStyle style;
  int64_t compared = 0, alone = 0, other_shape = 0, int8 = 0, stated = 0, extremes = 0;
  std::string text, trouble;

 private:
  Head head_;
};

// The set of sinks owns the first; the second is read behind the run.
std::pair<std::unique_ptr<Sink>, std::shared_ptr<Witness>> make_witness();

Result<void> add_native_reports(const std::vector<std::string>& names, const fs::path& output,
                                ReportSet& reports);
void say_where(const CompareOutcome& outcome);
void say_what_is_left_out(const Witness& seen, bool is_sheets);

}  // namespace assay::cli

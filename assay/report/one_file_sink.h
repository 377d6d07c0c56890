// What text reports that are one file, or standard output, have in common.
#pragma once

#include "assay/report/destination.h"
#include "assay/report/rows.h"

namespace assay {

class OneFileSink : public Sink {
 public:
  Result<std::vector<fs::path>> publish() override { return out_->publish(); }

 protected:
  explicit OneFileSink(const SinkOptions& options) : options_(options), table_(*options.profile) {}

  // starts_late: as of Destination::open
  Result<void> open(const Head& head, std::string_view suffix, bool starts_late = false) {
    table_.begin(head);
    ASSAY_TRY(Destination out, Destination::open(options_, head, suffix, starts_late));
    out_.emplace(std::move(out));
    return {};
  }
  const RowTable& table() const { return table_; }
  Destination& out() { return *out_; }

 private:
  SinkOptions options_;
  RowTable table_;
  std::optional<Destination> out_;
};

}  // namespace assay

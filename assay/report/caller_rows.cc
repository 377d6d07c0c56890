#include "assay/report/caller_rows.h"

#include "assay/base/cancel.h"
#include "assay/report/json_rows.h"

namespace assay {
namespace {

class CallerRows : public Sink {
 public:
  CallerRows(Caller& caller, const Profile& profile) : caller_(caller), table_(profile) {}

  Result<void> begin(const Head& head) override {
    table_.begin(head);
    return {};
  }

  std::string render(std::string_view section, std::span<const NodeResult> nodes) const override {
    return json_lines(table_, section, nodes);
  }

  Result<void> write(std::string_view, std::span<const NodeResult>, std::string&& rendered) override {
    caller_.write_rows(rendered);
    return check_cancelled();
  }

  Result<void> end(const Summary& summary) override {
    summary_ = last_json_line(table_, summary);
    return {};
  }

  // Behind everything that may still fail.
  Result<void> announce(const Summary&, std::span<const fs::path>) override {
    caller_.write_summary(summary_);
    return {};
  }

 private:
  Caller& caller_;
  RowTable table_;
  std::string summary_;
};

}  // namespace

std::unique_ptr<Sink> rows_for(Caller& caller, const Profile& profile) {
  return std::make_unique<CallerRows>(caller, profile);
}

}  // namespace assay

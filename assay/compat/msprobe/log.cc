#include "assay/support/log.h"
#include "assay/compat/msprobe/files.h"
#include "assay/report/cells.h"
#include "assay/support/json_tape.h"

#include <fmt/format.h>

namespace assay {
namespace {

std::string cell_text(const Value& value) {
  if (const auto* number = std::get_if<double>(&value)) {
    std::string out;
    append_python_float(out, *number);
    return out;
  }
  return plain(value);
}

class RowLog : public Sink {
 public:
  explicit RowLog(const MsprobeLog& options) : options_(options) {}

  Result<void> begin(const Head& head) override {
    head_ = head;
    for (const Column& column : options_.profile->columns(head))
      for (const std::string_view wanted : kMetrics)
        if (column.title == wanted) metrics_.push_back(column);
    return {};
  }

  std::string render(std::string_view, std::span<const NodeResult>) const override { return {}; }

  Result<void> write(std::string_view section, std::span<const NodeResult> nodes, std::string&&) override {
    for (const NodeResult& node : nodes)
      for (const Comparison& row : node.rows)
        if (row.status == Status::unreadable)
          log::warn("{}", row.note);  // the table has no room for the reason
    if (!options_.rows || head_.content != Content::data) return {};
    for (const NodeResult& node : nodes)
      for (const Comparison& row : node.rows)
        if (const RowView view{head_, section, node, row}; options_.profile->keeps(view)) log_row(view);
    return {};
  }

  Result<void> end(const Summary&) override {
    const fs::path file =
        options_.table / (options_.profile->file_stem(head_) + std::string(options_.suffix));
    log::info("Saving result excel file in progress. The file path is: {}.", display(file));
    if (options_.coloured) log::info("Coloring Excel in progress.");
    return {};
  }

 private:
  static constexpr std::string_view kMetrics[] = {"Cosine",
                                                  "EucDist",
                                                  "MaxAbsErr",
                                                  "MaxRelativeErr",
                                                  "One Thousandth Err Ratio",
                                                  "Five Thousandths Err Ratio"};
  static constexpr std::string_view kWords[] = {"cosine",
                                                "euc_dist",
                                                "max_abs_err",
                                                "max_relative_err",
                                                "one_thousand_err_ratio",
                                                "five_thousand_err_ratio"};

  void log_row(const RowView& row) {
    const std::string_view name = row.row.mine.name;
    const std::string& message = row.row.verdict.reason;
    log::info("start compare: {}", name);
    if (message.find("does not have data file") != std::string::npos ||
        message.find("Bench api/module unmatched") != std::string::npos) {
      log::info("[{}] Compare result: {} ", name, message);
      return;
    }
    std::string numbers;
    const size_t skipped = std::size(kWords) - metrics_.size();  // generation 1 has no distance
    for (size_t i = 0; i < metrics_.size(); ++i)
      numbers += fmt::format("{} {}, ", kWords[i == 0 ? 0 : i + skipped], cell_text(metrics_[i].cell(row)));
    log::info("[{}] Compare result: {}{}", name, numbers, message);
  }

  const MsprobeLog options_;
  Head head_;
  std::vector<Column> metrics_;
};

class KernelLog : public Sink {
 public:
  Result<void> begin(const Head& head) override {
    at_ = head.at;
    return {};
  }
  std::string render(std::string_view, std::span<const NodeResult>) const override { return {}; }
  Result<void> write(std::string_view, std::span<const NodeResult>, std::string&&) override { return {}; }
  Result<void> end(const Summary&) override { return {}; }
  Result<void> announce(const Summary&, std::span<const fs::path> files) override {
    for (const fs::path& file : files)
      log::info("Compare rank: {} step: {} finish. Compare result: {}.", at_.rank, at_.step, display(file));
    return {};
  }

 private:
  At at_;
};

}  // namespace

std::unique_ptr<Sink> msprobe_kernel_log() { return std::make_unique<KernelLog>(); }

std::unique_ptr<Sink> msprobe_log(const MsprobeLog& options) { return std::make_unique<RowLog>(options); }

}  // namespace assay

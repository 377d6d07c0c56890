#include "assay/report/cells.h"
#include "assay/report/destination.h"
#include "assay/report/outputs.h"
#include "assay/report/rows.h"

namespace assay {
namespace {

class CsvSink : public Sink {
 public:
  explicit CsvSink(const SinkOptions& options) : options_(options), table_(*options.profile) {}

  Result<void> begin(const Head& head) override {
    table_.begin(head);
    ASSAY_TRY(Destination out, Destination::open(options_, head, csv_output.suffix));
    out_.emplace(std::move(out));
    std::string line;
    for (const Column& column : table_.columns()) {
      if (!line.empty()) line += ',';
      append_csv(line, column.title);
    }
    return out_->append(line.append(options_.profile->line_end));
  }

  std::string render(std::string_view section, std::span<const NodeResult> nodes) const override {
    std::string out;
    const bool is_native = options_.profile->print == Print::native;
    table_.each(section, nodes, [&](const RowView& row) {
      bool first = true;
      for (const Column& column : table_.columns()) {
        if (!first) out += ',';
        first = false;
        if (column.text != nullptr)
          append_csv_text(out, column.text(row), is_native ? Breaks::shown : Breaks::kept);
        else if (is_native)
          append_csv(out, column.cell(row));
        else if (const Value value = column.cell(row); column.kind == ColumnKind::written)
          append_written_csv(out, value, column.unit);
        else
          append_python_csv(out, value);
      }
      out += options_.profile->line_end;
    });
    return out;
  }

  Result<void> write(std::string_view, std::span<const NodeResult>, std::string&& rendered) override {
    return out_->append(rendered);
  }

  Result<void> end(const Summary&) override { return out_->end(); }
  Result<std::vector<fs::path>> publish() override { return out_->publish(); }

 private:
  SinkOptions options_;
  RowTable table_;
  std::optional<Destination> out_;
};

}  // namespace

const Output csv_output = {
    .name = "csv",
    .suffix = ".csv",
    .to_stdout = true,
    .open = [](const SinkOptions& options) -> std::unique_ptr<Sink> {
      return std::make_unique<CsvSink>(options);
    },
};

}  // namespace assay

#include "assay/report/cells.h"
#include "assay/report/destination.h"
#include "assay/report/outputs.h"
#include "assay/report/rows.h"

#include <fmt/format.h>

namespace assay {
namespace {

// The size of the first rows of a text, at most `most` of them, which are counted.
size_t size_of_rows(std::string_view text, int64_t most, int64_t& count) {
  bool is_quoted = false;
  for (size_t at = text.find_first_of("\"\n"); at != std::string_view::npos && count < most;
       at = text.find_first_of("\"\n", at + 1)) {
    if (text[at] == '"')
      is_quoted = !is_quoted;
    else if (!is_quoted && ++count == most)
      return at + 1;
  }
  return most == 0 ? 0 : text.size();
}

class CsvSink : public Sink {
 public:
  explicit CsvSink(const SinkOptions& options) : options_(options), table_(*options.profile) {}

  Result<void> begin(const Head& head) override {
    table_.begin(head);
    return open_file();
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

  Result<void> write(std::string_view section, std::span<const NodeResult> nodes,
                     std::string&& rendered) override {
    const int64_t most = options_.profile->rows_per_csv;
    if (most == INT64_MAX || options_.folder == "-") return files_.back().append(rendered);
    int64_t more = 0;
    table_.each(section, nodes, [&](const RowView&) { ++more; });
    if (rows_ + more <= most) {  // as nearly always: the text need not be looked through
      rows_ += more;
      return files_.back().append(rendered);
    }
    for (std::string_view left = rendered; !left.empty();) {
      if (rows_ == most) {
        ASSAY_TRY_DO(open_file());
      }
      int64_t count = 0;
      const size_t size = size_of_rows(left, most - rows_, count);
      rows_ += count;
      ASSAY_TRY_DO(files_.back().append(left.substr(0, size)));
      left.remove_prefix(size);
    }
    return {};
  }

  Result<void> end(const Summary&) override {
    for (Destination& file : files_) ASSAY_TRY_DO(file.end());
    return {};
  }

  Result<std::vector<fs::path>> publish() override {
    std::vector<fs::path> names;
    for (size_t i = 0; i < files_.size(); ++i) {
      if (files_.size() > 1) files_[i].add_to_name(fmt::format("_part_{}", i + 1));
      ASSAY_TRY(const std::vector<fs::path> published, files_[i].publish());
      names.insert(names.end(), published.begin(), published.end());
    }
    return names;
  }

 private:
  Result<void> open_file() {
    ASSAY_TRY(Destination file, Destination::open(options_, table_.head(), csv_output.suffix));
    files_.push_back(std::move(file));
    rows_ = 0;
    std::string line;
    for (const Column& column : table_.columns()) {
      if (!line.empty()) line += ',';
      append_csv(line, column.title);
    }
    return files_.back().append(line.append(options_.profile->line_end));
  }

  SinkOptions options_;
  RowTable table_;
  std::vector<Destination> files_;
  int64_t rows_ = 0;  // of the last file
};

}  // namespace

const Output csv_output = {
    .name = "csv",
    .suffix = ".csv",
    .to_stdout = true,
    .open = open_sink<CsvSink>,
};

}  // namespace assay

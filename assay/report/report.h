// Outputs. One file per output in this folder; table.cc lists them. A sink gets the rows in report order.
// What every output writes, field by field: docs/reports.md
#pragma once

#include "assay/base/result.h"
#include "assay/model/outcome.h"

#include <functional>
#include <memory>

namespace assay {

struct RowView {
  const Head& head;
  std::string_view section;
  const NodeResult& node;
  const Comparison& row;
};

enum class ColumnKind : uint8_t {
  text,
  number,   // mostly; a checksum or a word may stand there too
  shape,    // "[2, 3]": an array in JSON
  verdict,  // text, coloured where the output has colours
  written,  // a number that stands there as its text, with a unit: "12.5%"
};

struct Column {
  std::string title;
  std::function<Value(const RowView&)> cell;  // called from several threads at once
  ColumnKind kind = ColumnKind::text;
  std::string_view unit = {};  // of a written column
  // The same for a column that never holds anything but texts: no copy is made of them.
  std::string_view (*text)(const RowView&) = nullptr;
};
Column text_column(std::string title, std::string_view (*text)(const RowView&));
// The cell of a column as other outputs than csv and xlsx want it: written numbers are texts.
Value cell_value(const Column& column, const RowView& row);

// How values become cells.
enum class Print : uint8_t {
  native,          // shortest digits; control characters made visible
  python,          // as pandas writes csv and plain xlsx: True, 1.0; texts as they are
  python_as_text,  // the same, but whatever is no number is its text, and inf has a tab behind it
};

// What a tool's report looks like: its columns, the rows it shows, its file names. The native one shows
// everything.
struct Profile {
  std::string_view name;
  std::function<std::vector<Column>(const Head& head)> columns;
  std::function<bool(const RowView& row)> keeps;
  std::function<std::string(const Head& head)> file_stem;  // "assay_report_20250102030405"
  Print print = Print::native;
  // How many rows will come, for tools that share them out evenly among sheets; null: sheets are filled.
  std::function<int64_t(const Head& head)> row_count = nullptr;
  // A sheet for each name it gives, instead of one for all sections; null: one.
  std::function<std::string(const Head& head)> section_sheet = nullptr;
  std::vector<std::string> sheets = {};  // those that are there even where no section was compared
  std::string_view sheet = {};  // name of the only sheet of a workbook; empty: a summary and sheets "rows"
  std::string_view line_end = "\n";               // of csv
  int64_t rows_per_csv = INT64_MAX;               // more make several files, "…_part_1.csv" and so on
  unsigned file_mode = 0666, folder_mode = 0777;  // less what the umask takes away
};
extern const Profile native_profile;
extern const Profile overflow_profile;  // of tensors that stand by themselves

// One output of one run. Memory does not grow with the number of rows.
class Sink {
 public:
  virtual ~Sink() = default;
  virtual Result<void> begin(const Head& head) = 0;
  virtual Result<void> open_section(const Head& /*head*/) { return {}; }
  virtual Result<void> close_section(const Summary& /*of_section*/) { return {}; }
  // Instead of both: a section that could not be compared. head.at says which.
  virtual Result<void> skip_section(const Head& /*head*/, const Error& /*why*/) { return {}; }
  // Any thread: turns nodes into bytes of this output. Must not change the sink.
  virtual std::string render(std::string_view section, std::span<const NodeResult> nodes) const = 0;
  // One thread, in order.
  virtual Result<void> write(std::string_view section, std::span<const NodeResult> nodes,
                             std::string&& rendered) = 0;
  // Writes what is left. A file is complete afterwards, but has no name yet.
  virtual Result<void> end(const Summary& summary) = 0;
  // Gives the files their names; none for standard output.
  virtual Result<std::vector<fs::path>> publish() { return std::vector<fs::path>(); }
  // Last of all, when every file has its name.
  virtual Result<void> announce(const Summary& /*summary*/, std::span<const fs::path> /*files*/) {
    return {};
  }
};

struct SinkOptions {
  fs::path folder;  // "-" means standard output, for csv, json, jsonl, junit
  const Profile* profile = &native_profile;
};

struct Output {
  std::string_view name;    // "csv"
  std::string_view suffix;  // ".csv"
  bool to_stdout;           // may be written to standard output
  std::unique_ptr<Sink> (*open)(const SinkOptions& options);
};
std::span<const Output* const> outputs();
const Output* find_output(std::string_view name);  // null if there is none of this name

// Several sinks as one.
std::unique_ptr<Sink> together(std::vector<std::unique_ptr<Sink>> sinks);

// One line per rank, step and part, in a file of its own: summary_{time}.csv. Nothing for a run of one
// section.
std::unique_ptr<Sink> section_summary(const fs::path& folder, const Profile& profile);

// Makes a sink anew for every section and publishes it with the section: one file per rank, say.
std::unique_ptr<Sink> per_section(std::function<std::unique_ptr<Sink>()> make);

// All sinks of one run. After an error the set is only good for destruction: files without a name vanish with
// it.
class ReportSet {
 public:
  void add(std::unique_ptr<Sink> sink) { sinks_.push_back(std::move(sink)); }
  // What Summary::selection is to say.
  void select(std::string selection) { selection_ = std::move(selection); }
  Result<void> begin(const Head& head);
  Result<void> open_section(const Head& head);
  Result<void> close_section(const Summary& of_section);
  Result<void> skip_section(const Head& head, const Error& why);
  std::vector<std::string> render(std::span<const NodeResult> nodes) const;  // one text per sink
  Result<void> write(std::span<const NodeResult> nodes, std::vector<std::string>&& rendered);
  // Completes every output before the first one gets its name; answers the files that were written.
  Result<std::vector<fs::path>> end(const Summary& summary);

 private:
  std::vector<std::unique_ptr<Sink>> sinks_;
  std::string section_;
  std::string selection_;
};

}  // namespace assay

// Where a text output goes: a new file of the report folder, or standard output.
#pragma once

#include "assay/base/file.h"
#include "assay/report/report.h"

#include <optional>
#include <vector>

namespace assay {

// The file a sink writes: folder / stem of the profile + suffix. Makes the folder.
Result<FileWriter> create_report(const SinkOptions& options, const Head& head, std::string_view suffix);

class Destination {
 public:
  // starts_late: start_with() will be called. What is appended waits in a file without a name until then.
  static Result<Destination> open(const SinkOptions& options, const Head& head, std::string_view suffix,
                                  bool starts_late = false);
  Result<void> append(std::string_view text);
  Result<void> start_with(std::string_view text);  // once, behind the last append(): goes before all of it
  void add_to_name(std::string_view text);         // in front of the suffix; before publish()
  Result<void> end();
  Result<std::vector<fs::path>> publish();

 private:
  explicit Destination(std::optional<FileWriter> file) : file_(std::move(file)) {}
  std::optional<FileWriter> file_;   // empty: standard output
  std::optional<FileWriter> spool_;  // what waits for its start
  Result<void> append_at_once(std::string_view text);
};

}  // namespace assay

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
  // patched: patch() will be called. Standard output cannot be patched, so its text then waits in a temporary
  // file.
  static Result<Destination> open(const SinkOptions& options, const Head& head, std::string_view suffix,
                                  bool patched = false);
  Result<void> append(std::string_view text);
  Result<void> patch(int64_t offset, std::string_view text);  // only over what was appended before
  void add_to_name(std::string_view text);                    // in front of the suffix; before publish()
  Result<void> end();
  Result<std::vector<fs::path>> publish();

 private:
  explicit Destination(std::optional<FileWriter> file) : file_(std::move(file)) {}
  std::optional<FileWriter> file_;   // empty: standard output
  std::optional<FileWriter> spool_;  // what waits for standard output
};

}  // namespace assay

// The zip container of an .xlsx file, written as a stream: parts are deflated in chunks that may come from
// any thread.
#pragma once

#include "assay/base/file.h"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace assay {

// A run of a part's text as deflate data that ends on a byte boundary and refers to nothing before it, so
// that chunks can be made independently and put one behind the other.
struct DeflatedChunk {
  std::string bytes;
  int64_t text_size = 0;
  uint32_t crc = 0;
};
DeflatedChunk deflate_chunk(std::string_view text);

class XlsxPackage {
 public:
  explicit XlsxPackage(FileWriter file) : file_(std::move(file)) {}

  Result<void> add(const std::string& name, std::string_view text);  // a whole part
  // One part at a time. It starts with `start` (less than 64 KiB), which is not compressed, so that close()
  // can replace it by a text of the same length that says what was not known before.
  Result<void> open(const std::string& name, std::string_view start);
  Result<void> append(const DeflatedChunk& chunk);
  Result<void> append(std::string_view text) { return append(deflate_chunk(text)); }
  Result<void> close(std::string_view start);

  Result<void> end();  // the directory
  Result<fs::path> publish() { return file_.publish(); }

 private:
  struct Part {
    std::string name;
    int64_t offset = 0, stored_size = 0, text_size = 0;
    uint32_t crc = 0;       // of what follows the start, until the part is closed
    bool is_large() const;  // needs the 64-bit fields
  };
  FileWriter file_;
  std::vector<Part> parts_;
  size_t start_size_ = 0;  // of the open part
  bool open_ = false;
};

}  // namespace assay

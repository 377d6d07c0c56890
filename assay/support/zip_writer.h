// Zip archives of stored (not compressed) entries, whose data start at multiples of 64 bytes. The same input
// gives the same bytes: no clock is read. ZIP64 only where a size or a count needs it.
#pragma once

#include "assay/base/file.h"

#include <vector>

namespace assay {

class ZipWriter {
 public:
  explicit ZipWriter(FileWriter& out) : out_(out) {}

  // One entry: begin, append its bytes in any number of pieces, end. `size` is the sum of the pieces.
  Result<void> begin(std::string_view name, int64_t size);
  Result<void> append(Bytes bytes);
  Result<void> end();

  // The three at once, for what is in memory.
  Result<void> add(std::string_view name, Bytes bytes);

  // Writes the directory. Nothing may follow.
  Result<void> finish();

 private:
  struct Written {
    std::string name;
    int64_t size = 0, header_offset = 0;
    uint32_t crc = 0;
  };
  FileWriter& out_;
  std::vector<Written> entries_;
  int64_t missing_ = 0;  // bytes of the open entry still to come
};

}  // namespace assay

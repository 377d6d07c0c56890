// Zip archives of stored (not compressed) entries, written piece by piece; see base/zip_records.h.
#pragma once

#include "assay/base/file.h"
#include "assay/base/zip_records.h"

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
  FileWriter& out_;
  std::vector<ZipRecord> entries_;
  int64_t missing_ = 0;  // bytes of the open entry still to come
};

}  // namespace assay

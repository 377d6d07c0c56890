// A file without a name: gone when it is closed, however the program ends.
#pragma once

#include "assay/base/bytes.h"
#include "assay/base/result.h"

#include <filesystem>

namespace assay {

class UnnamedFile {
 public:
  // In the folder that TMPDIR names, else /tmp. An error that names the folder where `room` bytes would take
  // more than half of what is free there: other programs need it too.
  static Result<UnnamedFile> create(int64_t room);
  UnnamedFile(UnnamedFile&& other) noexcept;
  UnnamedFile& operator=(UnnamedFile&&) = delete;
  ~UnnamedFile();

  Result<void> write_at(int64_t offset, Bytes bytes);
  // Precondition: these bytes were written. Any thread, also while others are written.
  Result<void> read(int64_t offset, std::span<std::byte> out) const;
  // Gives the room back; reading is an error from now on.
  void empty();

 private:
  UnnamedFile(std::filesystem::path folder, int descriptor);
  std::filesystem::path folder_;
  int descriptor_ = -1;
};

}  // namespace assay

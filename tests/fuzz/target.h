// What every fuzz target shares: libFuzzer's entry point, and a file for parsers that read one.
#pragma once

#include "assay/base/file.h"

#include <fcntl.h>
#include <unistd.h>

#include <cstdint>
#include <cstdlib>

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size);

namespace assay {

// A file in a folder of its own, in memory where the system has such a place; removed at exit.
class TemporaryFile {
 public:
  explicit TemporaryFile(const char* name) {
    std::string folder =
        fs::is_directory("/dev/shm") ? "/dev/shm/assay_fuzz_XXXXXX" : "/tmp/assay_fuzz_XXXXXX";
    ASSAY_CHECK(::mkdtemp(folder.data()) != nullptr);
    folder_ = folder;
    path_ = folder_ / name;
    descriptor_ = ::open(path_.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    ASSAY_CHECK(descriptor_ >= 0);
  }
  ~TemporaryFile() {
    ::close(descriptor_);
    std::error_code ignored;
    fs::remove_all(folder_, ignored);
  }
  TemporaryFile(const TemporaryFile&) = delete;
  TemporaryFile& operator=(const TemporaryFile&) = delete;

  const fs::path& path() const { return path_; }

  void fill(const uint8_t* data, size_t size) const {
    ASSAY_CHECK(::ftruncate(descriptor_, 0) == 0);
    ASSAY_CHECK(::pwrite(descriptor_, data, size, 0) == static_cast<ssize_t>(size));
  }

 private:
  fs::path folder_, path_;
  int descriptor_ = -1;
};

// An error must be one line that says something; a success must say nothing.
template <class T>
void check_error(const Result<T>& result) {
  if (result) return;
  ASSAY_CHECK(!result.error().message.empty());
  ASSAY_CHECK(result.error().message.find('\n') == std::string::npos);
}

}  // namespace assay

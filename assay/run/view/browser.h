// The browser of whoever sits before the screen, and a folder that goes away with us.
#pragma once

#include "assay/base/file.h"

#include <optional>
#include <string>

namespace assay {

class TemporaryFolder {
 public:
  static Result<TemporaryFolder> make();
  TemporaryFolder(TemporaryFolder&& other) noexcept : path_(std::move(other.path_)) { other.path_.clear(); }
  TemporaryFolder& operator=(TemporaryFolder&&) = delete;
  ~TemporaryFolder();
  const fs::path& path() const { return path_; }

 private:
  explicit TemporaryFolder(fs::path path) : path_(std::move(path)) {}
  fs::path path_;
};

// Nothing happens where there is no screen, or no browser. The answer has to live as long as the page is
// served.
std::optional<TemporaryFolder> open_browser(const std::string& address);

}  // namespace assay

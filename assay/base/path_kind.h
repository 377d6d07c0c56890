// What a path leads to; where that cannot be found out, it is neither.
#pragma once

#include <filesystem>
#include <system_error>

namespace assay {

inline bool is_folder(const std::filesystem::path& path) {
  std::error_code ignored;
  return std::filesystem::is_directory(path, ignored);
}

inline bool is_file(const std::filesystem::path& path) {
  std::error_code ignored;
  return std::filesystem::is_regular_file(path, ignored);
}

}  // namespace assay

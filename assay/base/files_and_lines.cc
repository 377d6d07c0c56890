#include "assay/base/files_and_lines.h"

#include <fmt/format.h>

namespace assay {

std::string files_and_lines(int64_t count, int64_t lines) {
  const int64_t files = count - lines;
  std::string out;
  if (files != 0 || lines == 0) out = fmt::format("{} file{}", files, files == 1 ? "" : "s");
  if (lines != 0)
    out += fmt::format("{}{} line{} of tables", out.empty() ? "" : " and ", lines, lines == 1 ? "" : "s");
  return out;
}

}  // namespace assay

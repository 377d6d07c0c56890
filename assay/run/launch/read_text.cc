#include "assay/run/launch/read_text.h"

#include "assay/base/text.h"

namespace assay {

Result<std::string> read_text(const fs::path& path) {
  constexpr int64_t kLargest = int64_t{256} << 20;
  ASSAY_TRY(const auto file, File::open(path));
  if (file->size() > kLargest)
    return fail(ErrorKind::bad_format, "{}: {} are too many for a list", display(path),
                format_size(file->size()));
  std::string text(static_cast<size_t>(file->size()), '\0');
  ASSAY_TRY_DO(file->read(0, std::as_writable_bytes(std::span(text))));
  return text;
}

}  // namespace assay

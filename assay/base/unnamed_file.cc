#include "assay/base/unnamed_file.h"

#include "assay/base/file.h"
#include "assay/base/system_message.h"
#include "assay/base/text.h"

#include <fcntl.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>

namespace assay {
namespace {

tl::unexpected<Error> cannot(const fs::path& folder, std::string_view what) {
  return fail(ErrorKind::io, "a temporary file in {} {}; set TMPDIR to a folder with more room",
              display(folder), what);
}

// Where the file system knows no files without a name: one with a name that is removed at once.
int open_named(const fs::path& folder) {
  std::string name = (folder / "assay_XXXXXX").string();
  const int descriptor = ::mkostemp(name.data(), O_CLOEXEC);
  if (descriptor >= 0) ::unlink(name.c_str());
  return descriptor;
}

}  // namespace

Result<UnnamedFile> UnnamedFile::create(int64_t room) {
  const char* const wanted = std::getenv("TMPDIR");
  const fs::path folder = wanted != nullptr && *wanted != '\0' ? wanted : "/tmp";
  int descriptor = ::open(folder.c_str(), O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
  if (descriptor < 0 && (errno == EOPNOTSUPP || errno == EISDIR || errno == EINVAL))
    descriptor = open_named(folder);
  if (descriptor < 0) return cannot(folder, fmt::format("cannot be made: {}", system_message(errno)));
  UnnamedFile file(folder, descriptor);
  struct statvfs system {};
  if (::fstatvfs(descriptor, &system) == 0) {
    const auto free = static_cast<int64_t>(system.f_bavail * system.f_frsize);
    if (room > free / 2)
      return cannot(folder, fmt::format("would take {}, more than half of the {} that are free",
                                        format_size(room), format_size(free)));
  }
  return file;
}

UnnamedFile::UnnamedFile(fs::path folder, int descriptor)
    : folder_(std::move(folder)), descriptor_(descriptor) {}

UnnamedFile::UnnamedFile(UnnamedFile&& other) noexcept
    : folder_(std::move(other.folder_)), descriptor_(std::exchange(other.descriptor_, -1)) {}

UnnamedFile::~UnnamedFile() {
  if (descriptor_ >= 0) ::close(descriptor_);
}

Result<void> UnnamedFile::write_at(int64_t offset, Bytes bytes) {
  while (!bytes.empty()) {
    const ssize_t put = ::pwrite(descriptor_, bytes.data(), bytes.size(), offset);
    if (put < 0 && errno == EINTR) continue;
    if (put <= 0)
      return cannot(folder_, fmt::format("cannot be written: {}", system_message(put < 0 ? errno : ENOSPC)));
    offset += put;
    bytes = bytes.subspan(static_cast<size_t>(put));
  }
  return {};
}

void UnnamedFile::empty() {
  if (::ftruncate(descriptor_, 0) != 0) return;  // then the room comes back when the file is closed
}

Result<void> UnnamedFile::read(int64_t offset, std::span<std::byte> out) const {
  while (!out.empty()) {
    const ssize_t got = ::pread(descriptor_, out.data(), out.size(), offset);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0)
      return cannot(folder_, fmt::format("cannot be read back: {}", system_message(got < 0 ? errno : EIO)));
    offset += got;
    out = out.subspan(static_cast<size_t>(got));
  }
  return {};
}

}  // namespace assay

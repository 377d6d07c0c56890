#include "assay/base/sync.h"

#include "assay/base/system_message.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>

namespace assay {

namespace {

Result<void> sync(const fs::path& path, int flags) {
  const int descriptor = ::open(path.empty() ? "." : path.c_str(), O_RDONLY | O_CLOEXEC | flags);
  if (descriptor < 0)
    return fail(ErrorKind::io, "{}: cannot be read: {}", display(path), system_message(errno));
  // Some file systems cannot sync folders and say so; there is nothing more to do on them.
  const bool synced = ::fsync(descriptor) == 0 || errno == EINVAL || errno == EROFS;
  const int error = errno;
  ::close(descriptor);
  if (!synced) return fail(ErrorKind::io, "{}: cannot be written: {}", display(path), system_message(error));
  return {};
}

}  // namespace

Result<void> sync_folder(const fs::path& folder) { return sync(folder, O_DIRECTORY); }

Result<void> sync_file(const fs::path& path) { return sync(path, O_NOFOLLOW | O_NONBLOCK); }

}  // namespace assay

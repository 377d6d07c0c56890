#include "assay/base/sync.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <system_error>

namespace assay {

Result<void> sync_folder(const fs::path& folder) {
  const int descriptor = ::open(folder.empty() ? "." : folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (descriptor < 0)
    return fail(ErrorKind::io, "{}: cannot be read: {}", display(folder),
                std::generic_category().message(errno));
  // Some file systems cannot sync folders and say so; there is nothing more to do on them.
  const bool synced = ::fsync(descriptor) == 0 || errno == EINVAL || errno == EROFS;
  const int error = errno;
  ::close(descriptor);
  if (!synced)
    return fail(ErrorKind::io, "{}: cannot be written: {}", display(folder),
                std::generic_category().message(error));
  return {};
}

}  // namespace assay

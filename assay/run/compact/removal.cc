#include "assay/run/compact/removal.h"

#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>

namespace assay {
namespace {

class Descriptor {
 public:
  explicit Descriptor(int number) : number_(number) {}
  ~Descriptor() {
    if (number_ >= 0) ::close(number_);
  }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  int get() const { return number_; }

 private:
  const int number_;
};

Removal remove_plainly(int folder, const std::string& name) {
  return ::unlinkat(folder, name.c_str(), 0) == 0 || errno == ENOENT ? Removal::done : Removal::failed;
}

constexpr std::string_view kAside = ".assay-old";

// Whatever has the new name already stays.
bool rename_beside(int folder, const std::string& from, const std::string& to) {
  if (::renameat2(folder, from.c_str(), folder, to.c_str(), RENAME_NOREPLACE) == 0) return true;
  if (errno != EINVAL && errno != ENOSYS) return false;
  // The file system knows no such rename.
  if (read_state(folder, to)) {
    errno = EEXIST;
    return false;
  }
  return ::renameat(folder, from.c_str(), folder, to.c_str()) == 0;
}

}  // namespace

Removal remove_unless_written(const fs::path& path, const FileState& state) {
  // The folder may be renamed at any moment; what is in it keeps its names.
  const std::string name = path.filename().native();
  const Descriptor folder(
      ::open(path.has_parent_path() ? path.parent_path().c_str() : ".", O_PATH | O_DIRECTORY | O_CLOEXEC));
  if (folder.get() < 0) return errno == ENOENT ? Removal::done : Removal::failed;
  const Descriptor file(::openat(folder.get(), name.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOFOLLOW));
  if (file.get() < 0) return errno == ENOENT ? Removal::done : Removal::failed;
  // While the lease is held, whoever opens the file to write waits, and the lease says so. SIGURG is a signal
  // that nobody minds.
  ::fcntl(file.get(), F_SETSIG, SIGURG);
  if (::fcntl(file.get(), F_SETLEASE, F_RDLCK) != 0)
    return errno == EAGAIN || errno == EBUSY ? Removal::was_written : remove_plainly(folder.get(), name);
  const auto is_as_before = [&](const std::string& called) {
    const std::optional<FileState> now = read_state(folder.get(), called);
    return ::fcntl(file.get(), F_GETLEASE) == F_RDLCK && now && is_unchanged(state, *now);
  };
  if (!is_as_before(name)) return Removal::was_written;
  // Under a name that nobody opens nobody can come any more: then one last look is enough. It may have become
  // another file on the way.
  const std::string aside = aside_name(name).native();
  if (!rename_beside(folder.get(), name, aside)) return errno == ENOENT ? Removal::done : Removal::failed;
  const bool is_measured = is_as_before(aside);
  if (is_measured && remove_plainly(folder.get(), aside) == Removal::done) return Removal::done;
  const int error = errno;
  const bool is_back = rename_beside(folder.get(), aside, name);
  if (is_back && !is_measured) return Removal::was_written;
  if (is_back) errno = error;
  return Removal::failed;
}

fs::path aside_name(const fs::path& path) { return path.native() + std::string(kAside); }

bool is_set_aside(std::string_view file_name) {
  return file_name.size() > kAside.size() && file_name.ends_with(kAside);
}

fs::path name_before_aside(const fs::path& aside) {
  const std::string& name = aside.native();
  return name.substr(0, name.size() - kAside.size());
}

bool put_back_from_aside(const fs::path& aside) {
  return rename_beside(AT_FDCWD, aside.native(), name_before_aside(aside).native());
}

}  // namespace assay

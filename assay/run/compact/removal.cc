#include "assay/run/compact/removal.h"

#include "assay/base/temporary_name.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>

namespace assay {
namespace {

class Descriptor {
 public:
  explicit Descriptor(const fs::path& path)
      : number_(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOFOLLOW)) {}
  ~Descriptor() {
    if (number_ >= 0) ::close(number_);
  }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  int get() const { return number_; }

 private:
  const int number_;
};

Removal remove_plainly(const fs::path& path) {
  return ::unlink(path.c_str()) == 0 || errno == ENOENT ? Removal::done : Removal::failed;
}

// Whoever made a file of that name meanwhile keeps it: then this one is called x.npy.kept.
bool put_back(const fs::path& aside, const fs::path& path) {
  fs::path kept = path;
  kept += ".kept";
  if (::link(aside.c_str(), path.c_str()) != 0 && ::link(aside.c_str(), kept.c_str()) != 0) return false;
  ::unlink(aside.c_str());
  return true;
}

}  // namespace

Removal remove_unless_written(const fs::path& path, const FileState& state) {
  const Descriptor file(path);
  if (file.get() < 0) return errno == ENOENT ? Removal::done : Removal::failed;
  // While the lease is held, whoever opens the file to write waits, and the lease says so. SIGURG is a signal
  // that nobody minds.
  ::fcntl(file.get(), F_SETSIG, SIGURG);
  if (::fcntl(file.get(), F_SETLEASE, F_RDLCK) != 0)
    return errno == EAGAIN || errno == EBUSY ? Removal::was_written : remove_plainly(path);
  const auto is_as_before = [&](const fs::path& name) {
    const std::optional<FileState> now = read_state(name);
    return ::fcntl(file.get(), F_GETLEASE) == F_RDLCK && now && is_unchanged(state, *now);
  };
  // The lock keeps other runs from taking the name that it gets for one of the dead.
  if (!is_as_before(path) || !lock_temporary(file.get())) return Removal::was_written;
  // Under a name that nobody opens nobody can come any more: then one last look is enough. A name of ours, so
  // that the next run removes what a killed one leaves.
  const fs::path aside = temporary_beside(path);
  if (::rename(path.c_str(), aside.c_str()) != 0) return errno == ENOENT ? Removal::done : Removal::failed;
  if (is_as_before(aside)) return remove_plainly(aside);
  return put_back(aside, path) ? Removal::was_written : Removal::failed;
}

}  // namespace assay

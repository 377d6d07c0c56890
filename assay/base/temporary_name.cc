#include "assay/base/temporary_name.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <ctime>
#include <mutex>
#include <set>
#include <system_error>

namespace assay {
namespace {

constexpr std::string_view kSuffix = ".assay.tmp";
constexpr size_t kMostNameBytes = 120;  // of the name it will have; all together must stay below 255
constexpr std::time_t kDay = 24 * 60 * 60;

// Without dots and dashes, which separate the parts of a temporary name.
const std::string& host() {
  static const std::string name = [] {
    char text[65] = {};
    if (::gethostname(text, sizeof text - 1) != 0 || text[0] == '\0') return std::string("localhost");
    std::string clean(text);
    for (char& c : clean)
      if ((c < '0' || c > '9') && (c < 'a' || c > 'z') && (c < 'A' || c > 'Z')) c = '_';
    return clean;
  }();
  return name;
}

// The HOST of a temporary name; empty if it is none.
std::string_view host_of(std::string_view name) {
  if (!name.starts_with('.') || !name.ends_with(kSuffix)) return {};
  name.remove_suffix(kSuffix.size());
  const size_t number = name.rfind('-');
  if (number == std::string_view::npos || number == 0) return {};
  const size_t process = name.rfind('-', number - 1);
  if (process == std::string_view::npos) return {};
  const size_t dot = name.rfind('.', process);
  const auto is_number = [](std::string_view text) {
    return !text.empty() && text.find_first_not_of("0123456789") == std::string_view::npos;
  };
  if (dot == 0 || dot == std::string_view::npos || !is_number(name.substr(number + 1)) ||
      !is_number(name.substr(process + 1, number - process - 1)))
    return {};
  return name.substr(dot + 1, process - dot - 1);
}

bool is_same_file(const fs::path& path, const struct stat& file) {
  struct stat now {};
  return ::lstat(path.c_str(), &now) == 0 && now.st_dev == file.st_dev && now.st_ino == file.st_ino;
}

}  // namespace

fs::path temporary_beside(const fs::path& path) {
  static std::atomic<int> counter{0};
  const std::string name = path.filename().string().substr(0, kMostNameBytes);
  return path.parent_path() / fmt::format(".{}.{}-{}-{}{}", name, host(), ::getpid(), counter++, kSuffix);
}

bool is_temporary_name(std::string_view file_name) { return !host_of(file_name).empty(); }

bool lock_temporary(int descriptor) {
  if (::flock(descriptor, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK) return false;
  struct stat status {};
  return ::fstat(descriptor, &status) == 0 && status.st_nlink > 0;
}

void remove_leftover(const fs::path& path) {
  const std::string name = path.filename().string();
  const std::string_view writer = host_of(name);
  if (writer.empty()) return;
  const int descriptor = ::open(path.c_str(), O_RDWR | O_CLOEXEC | O_NONBLOCK | O_NOFOLLOW);
  if (descriptor < 0) return;
  struct stat status {};
  const bool is_ours = ::fstat(descriptor, &status) == 0 && S_ISREG(status.st_mode) &&
                       status.st_uid == ::geteuid() &&
                       (writer == host() || status.st_mtime < std::time(nullptr) - kDay);
  if (is_ours && ::flock(descriptor, LOCK_EX | LOCK_NB) == 0 && is_same_file(path, status))
    ::unlink(path.c_str());
  ::close(descriptor);
}

void remove_leftovers_once(const fs::path& folder) {
  static std::mutex guard;
  static std::set<fs::path> seen;
  {
    const std::lock_guard lock(guard);
    if (!seen.insert(folder).second) return;
  }
  std::error_code error;
  for (fs::directory_iterator entry(folder.empty() ? "." : folder, error), end; !error && entry != end;
       entry.increment(error))
    if (is_temporary_name(entry->path().filename().native())) remove_leftover(entry->path());
}

}  // namespace assay

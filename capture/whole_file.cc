#include "capture/whole_file.h"

#include "assay/base/system_message.h"
#include "assay/base/temporary_name.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <climits>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <vector>

namespace assay::capture {
namespace {

constexpr int kMostNumbers =
    100000;                      // of one name; a program that saves one tensor so often means something else
constexpr int kTriedInTurn = 8;  // of these
constexpr size_t kPiece = size_t{8} << 20;  // of a file that is written at once

class Descriptor {
 public:
  explicit Descriptor(int number) : number_(number) {}
  ~Descriptor() { close(); }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  int get() const { return number_; }
  bool is_open() const { return number_ >= 0; }
  void reopen(int number) {
    close();
    number_ = number;
  }

 private:
  void close() {
    if (number_ >= 0) ::close(number_);
    number_ = -1;
  }
  int number_;
};

tl::unexpected<Error> trouble(const std::string& path, std::string_view what, int error) {
  return fail(ErrorKind::io, "{}: {}: {}", path, what, system_message(error));
}

std::string folder_of(const std::string& path) {
  const size_t slash = path.rfind('/');
  if (slash == std::string::npos) return ".";
  return slash == 0 ? "/" : path.substr(0, slash);
}

// errno, or 0.
int make_folders(const std::string& folder, unsigned mode) {
  if (::mkdir(folder.c_str(), mode) == 0 || errno == EEXIST) return 0;
  if (errno != ENOENT) return errno;
  const std::string above = folder_of(folder);
  if (above == folder || above == ".") return ENOENT;
  if (const int error = make_folders(above, mode); error != 0) return error;
  return ::mkdir(folder.c_str(), mode) == 0 || errno == EEXIST ? 0 : errno;
}

// Folders that were seen, by a hash of their names: what is remembered wrongly, or was removed, is noticed
// when a file is opened in it. No lock, which a child of fork() might inherit locked.
class SeenFolders {
 public:
  bool has(const std::string& folder) const {
    const size_t hash = std::hash<std::string>{}(folder);
    return slots_[hash % kSlots].load(std::memory_order_relaxed) == hash;
  }
  void add(const std::string& folder) {
    const size_t hash = std::hash<std::string>{}(folder);
    slots_[hash % kSlots].store(hash, std::memory_order_relaxed);
  }

 private:
  static constexpr size_t kSlots = 4096;
  std::array<std::atomic<size_t>, kSlots> slots_{};
};
SeenFolders seen_folders;

// A folder that is new, and mostly the one above it, are made before a file in it is tried: an attempt that
// fails costs as much as one that does not. What cannot be made is told by whoever opens the file.
void expect_folder(const std::string& folder, unsigned mode) {
  if (seen_folders.has(folder)) return;
  const std::string above = folder_of(folder);
  if (!seen_folders.has(above) && make_folders(above, mode) == 0) seen_folders.add(above);
  if (make_folders(folder, mode) == 0) seen_folders.add(folder);
}

// Opens, after making the folders if that is what was missing.
template <class Open>
int open_in(const std::string& folder, unsigned mode, Open open) {
  const int first = open();
  if (first >= 0 || errno != ENOENT) return first;
  if (const int error = make_folders(folder, mode); error != 0) {
    errno = error;
    return -1;
  }
  return open();
}

// errno, or 0.
int write_all(int descriptor, std::span<const Bytes> parts, std::atomic<int64_t>* pieces = nullptr) {
  std::vector<iovec> left;
  for (const Bytes part : parts)
    if (!part.empty()) left.push_back({const_cast<std::byte*>(part.data()), part.size()});
  size_t first = 0;
  while (first < left.size()) {
    size_t count = 0, bytes = 0;
    while (first + count < left.size() && count < IOV_MAX && bytes < kPiece)
      bytes += left[first + count++].iov_len;
    iovec& last = left[first + count - 1];
    const size_t whole = last.iov_len;
    last.iov_len -= bytes - std::min(bytes, kPiece);
    const ssize_t done = ::writev(descriptor, left.data() + first, static_cast<int>(count));
    last.iov_len = whole;
    if (done < 0 && errno == EINTR) continue;
    if (done < 0) return errno;
    if (done == 0) return ENOSPC;
    if (pieces != nullptr) pieces->fetch_add(1, std::memory_order_relaxed);
    auto wrote = static_cast<size_t>(done);
    while (first < left.size() && wrote >= left[first].iov_len) wrote -= left[first++].iov_len;
    if (first < left.size()) {
      left[first].iov_base = static_cast<char*>(left[first].iov_base) + wrote;
      left[first].iov_len -= wrote;
    }
  }
  return 0;
}

// Of the numbers of a name that follow one that is taken: one that is, and whose next one is not. A program
// that saves one name ten thousand times must not look at ten thousand files each time.
int last_taken(const std::string& path, int taken) {
  const auto is_there = [&](int number) {
    struct stat status {};
    return ::lstat(numbered(path, number).c_str(), &status) == 0;
  };
  int is_free = 2 * taken;
  while (is_free < kMostNumbers && is_there(is_free)) {
    taken = is_free;
    is_free *= 2;
  }
  is_free = std::min(is_free, kMostNumbers);
  while (is_free - taken > 1) {
    const int middle = (taken + is_free) / 2;
    (is_there(middle) ? taken : is_free) = middle;
  }
  return taken;
}

// Gives a name by `give(name)`, which answers like a system call; the next free one if that is taken.
template <class Give>
Result<std::string> give_name(const std::string& path, Existing existing, Give give) {
  for (int number = 1; number < kMostNumbers; ++number) {
    const std::string name = number == 1 ? path : numbered(path, number);
    if (give(name) == 0) return name;
    const int error = errno;
    if (error == EEXIST && existing == Existing::number) {
      if (number == kTriedInTurn) number = last_taken(path, number);
      continue;
    }
    auto refused = trouble(path, error == EEXIST ? "is in the way" : "cannot be given its name", error);
    errno = error;
    return refused;
  }
  return trouble(path, "too many of this name", EEXIST);
}

// A process that is killed while it writes ends between two pages of the file. How many bytes go in one
// write, so that this cuts no line: the lines up to the end of the page, or the one that lies across it.
size_t uncut_lines(std::string_view text, int64_t at) {
  constexpr int64_t kPage = 4096;
  const auto room = static_cast<size_t>(kPage - at % kPage);
  if (text.size() <= room) return text.size();
  const size_t last = text.substr(0, room).rfind('\n');
  if (last != std::string_view::npos) return last + 1;
  const size_t end = text.find('\n', room);
  return end == std::string_view::npos ? text.size() : end + 1;
}

std::atomic<bool> has_unnamed_files{true};
std::atomic<bool> links_descriptors{true};  // else by their names in /proc

// Gives an open file without a name one.
int link_open_file(int file, const std::string& name) {
  if (links_descriptors.load(std::memory_order_relaxed)) {
    if (::linkat(file, "", AT_FDCWD, name.c_str(), AT_EMPTY_PATH) == 0) return 0;
    if (errno != ENOENT) return -1;  // that is what who may not do it hears, too
  }
  const std::string open_file = "/proc/self/fd/" + std::to_string(file);
  const int done = ::linkat(AT_FDCWD, open_file.c_str(), AT_FDCWD, name.c_str(), AT_SYMLINK_FOLLOW);
  if (done == 0) links_descriptors.store(false, std::memory_order_relaxed);
  return done;
}

// The way from the folder of a link to a file, with all links on the way followed; empty: errno says why not.
std::string relative_target(const std::string& link, const std::string& file) {
  const auto real = [](const std::string& path) {
    char* const whole = ::realpath(path.c_str(), nullptr);
    std::string out = whole == nullptr ? "" : whole;
    std::free(whole);
    return out;
  };
  const std::string from = real(folder_of(link)), to = real(file);
  return from.empty() || to.empty() ? "" : std::filesystem::path(to).lexically_relative(from).string();
}

}  // namespace

std::string numbered(const std::string& path, int number) {
  const size_t slash = path.rfind('/');
  const size_t dot = path.rfind('.');
  const bool has_suffix = dot != std::string::npos && (slash == std::string::npos || dot > slash + 1);
  const size_t at = has_suffix ? dot : path.size();
  return path.substr(0, at) + "." + std::to_string(number) + path.substr(at);
}

std::optional<int64_t> room_on_disk(std::string path) {
  struct statvfs disk {};
  while (::statvfs(path.c_str(), &disk) != 0) {  // not made yet: the one above it
    const size_t slash = path.rfind('/');
    if (slash == std::string::npos || slash == 0) return std::nullopt;
    path.resize(slash);
  }
  return static_cast<int64_t>(disk.f_bavail) * static_cast<int64_t>(disk.f_frsize);
}

Result<void> make_folders_above(const std::string& path, const Rights& rights) {
  const std::string folder = folder_of(path);
  if (const int error = make_folders(folder, rights.folder); error != 0)
    return trouble(folder, "cannot be made", error);
  return {};
}

Result<std::string> write_whole(const std::string& path, std::span<const Bytes> parts, Existing existing,
                                const Rights& rights, std::atomic<int64_t>* pieces) {
  const std::string folder = folder_of(path);
  std::string temporary;  // its name, where it needs one
  Descriptor file(-1);
  expect_folder(folder, rights.folder);
  if (has_unnamed_files.load(std::memory_order_relaxed))
    file.reopen(open_in(folder, rights.folder, [&] {
      return ::open(folder.c_str(), O_TMPFILE | O_WRONLY | O_CLOEXEC, rights.file);
    }));
  if (!file.is_open() && (errno == EOPNOTSUPP || errno == EISDIR || errno == EINVAL || !has_unnamed_files)) {
    temporary = temporary_beside(path).native();
    file.reopen(open_in(folder, rights.folder, [&] {
      return ::open(temporary.c_str(), O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC | O_NOFOLLOW, rights.file);
    }));
    if (file.is_open()) lock_temporary(file.get());
  }
  if (!file.is_open()) return trouble(path, "cannot be made", errno);
  if (const int error = write_all(file.get(), parts, pieces); error != 0) {
    if (!temporary.empty()) ::unlink(temporary.c_str());
    return trouble(path, "cannot be written", error);
  }
  if (temporary.empty()) {
    const auto link = [&](const std::string& name) { return link_open_file(file.get(), name); };
    auto named = give_name(path, existing, link);
    const bool is_taken = !named && existing == Existing::replace && errno == EEXIST;
    if (!is_taken && (named || ::access("/proc/self/fd", X_OK) == 0)) return named;
    if (!is_taken) {
      has_unnamed_files.store(false, std::memory_order_relaxed);
      return write_whole(path, parts, existing, rights, pieces);
    }
    temporary = temporary_beside(path).native();  // a name that exists is replaced by another name only
    if (link(temporary) != 0) return trouble(path, "cannot be given its name", errno);
  }
  auto named = give_name(path, existing, [&](const std::string& name) {
    if (existing == Existing::replace) return ::rename(temporary.c_str(), name.c_str());
    if (::link(temporary.c_str(), name.c_str()) != 0) return -1;
    return ::unlink(temporary.c_str());
  });
  if (!named) ::unlink(temporary.c_str());
  return named;
}

Result<void> append_whole(const std::string& path, std::string_view header, std::string_view lines,
                          const Rights& rights) {
  const auto open = [&] {
    return ::open(path.c_str(), O_WRONLY | O_APPEND | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
  };
  Descriptor file(open());
  if (!file.is_open() && errno == ENOENT) {  // it appears with its first lines, and not before
    const Bytes first[] = {as_bytes(header), as_bytes(lines)};
    const auto made = write_whole(path, first, Existing::refuse, rights);
    if (made) return {};
    if (errno != EEXIST) return tl::unexpected(made.error());
    file.reopen(open());  // another process was quicker
  }
  if (!file.is_open()) return trouble(path, "cannot be opened", errno);
  struct stat status {};
  if (::fstat(file.get(), &status) != 0) return trouble(path, "cannot be looked at", errno);
  const std::string text = status.st_size == 0 ? std::string(header).append(lines) : std::string(lines);
  int error = 0;
  for (size_t done = 0; done < text.size() && error == 0;) {
    const std::string_view rest = std::string_view(text).substr(done);
    const auto piece = rest.substr(0, uncut_lines(rest, status.st_size + static_cast<int64_t>(done)));
    const Bytes parts[] = {as_bytes(piece)};
    error = write_all(file.get(), parts);
    done += piece.size();
  }
  if (error == 0) return {};
  if (::ftruncate(file.get(), status.st_size) != 0) return trouble(path, "ends with a part of a line", error);
  return trouble(path, "cannot be written", error);
}

Result<std::string> link_to(const std::string& path, const std::string& file, LinkKind kind,
                            Existing existing, const Rights& rights) {
  ASSAY_TRY_DO(make_folders_above(path, rights));
  const std::string target = kind == LinkKind::symbolic ? relative_target(path, file) : file;
  if (target.empty()) return trouble(path, "cannot be linked", errno);
  return give_name(path, existing, [&](const std::string& name) {
    if (existing == Existing::replace) ::unlink(name.c_str());
    return kind == LinkKind::hard ? ::link(target.c_str(), name.c_str())
                                  : ::symlink(target.c_str(), name.c_str());
  });
}

bool holds(const std::string& path, std::span<const Bytes> parts) {
  const Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!file.is_open()) return false;
  std::vector<std::byte> piece(size_t{256} << 10);
  for (Bytes part : parts)
    while (!part.empty()) {
      const ssize_t got = ::read(file.get(), piece.data(), std::min(part.size(), piece.size()));
      if (got < 0 && errno == EINTR) continue;
      if (got <= 0 || std::memcmp(piece.data(), part.data(), static_cast<size_t>(got)) != 0) return false;
      part = part.subspan(static_cast<size_t>(got));
    }
  return ::read(file.get(), piece.data(), 1) == 0;
}

}  // namespace assay::capture

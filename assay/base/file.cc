#include "assay/base/file.h"

#include "assay/base/mapping.h"
#include "assay/base/system_message.h"
#include "assay/base/temporary_name.h"
#include "assay/base/text.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <system_error>
#include <utility>

namespace assay {
namespace {

constexpr size_t kPendingLimit = size_t{1} << 20;
constexpr int kMaxNumber = 10000;
constexpr int kMaxAttempts = 100;

ErrorKind kind_of(int error) {
  return error == ENOENT || error == ENOTDIR ? ErrorKind::not_found : ErrorKind::io;
}

std::string_view what_it_is(mode_t mode) {
  if (S_ISDIR(mode)) return "a folder";
  if (S_ISSOCK(mode)) return "a socket";
  if (S_ISFIFO(mode)) return "a pipe";
  return "a device";
}

fs::path numbered(const fs::path& path, int number) {
  return path.parent_path() /
         (path.stem().string() + "_" + std::to_string(number) + path.extension().string());
}

fs::path folder_of(const fs::path& path) {
  return path.has_parent_path() ? path.parent_path() : fs::path(".");
}

// 0 or an errno.
int link_file(const std::string& file, const fs::path& name) {
  return ::linkat(AT_FDCWD, file.c_str(), AT_FDCWD, name.c_str(), AT_SYMLINK_FOLLOW) == 0 ? 0 : errno;
}

Result<int64_t> read_fully(int descriptor, const fs::path& path, int64_t offset, std::span<std::byte> out) {
  ASSAY_CHECK(offset >= 0);
  int64_t done = 0;
  while (done < std::ssize(out)) {
    const ssize_t got =
        ::pread(descriptor, out.data() + done, out.size() - static_cast<size_t>(done), offset + done);
    if (got < 0) {
      if (errno == EINTR) continue;
      return fail(ErrorKind::io, "{}: read error at byte {}: {}", display(path), offset + done,
                  system_message(errno));
    }
    if (got == 0) break;
    done += got;
  }
  return done;
}

// Runs `link(name)` (0 or an errno) with the names that the policy allows until one is free.
template <class Link>
Result<fs::path> give_name(const fs::path& path, IfExists if_exists, Link link) {
  for (int number = 1; number < kMaxNumber; ++number) {
    const fs::path name = number == 1 ? path : numbered(path, number);
    const int error = link(name);
    if (error == 0) return name;
    if (error != EEXIST)
      return fail(kind_of(error), "{}: cannot be written: {}", display(name), system_message(error));
    if (if_exists == IfExists::refuse)
      return fail(ErrorKind::io, "{}: exists already and is left as it is; pass --force to replace it",
                  display(name));
  }
  return fail(ErrorKind::io, "{}: too many files of this name", display(path));
}

// A file is opened by a dozen small reads at its two ends: one of each is enough, and each thread remembers
// the last. A small file is read as a whole, once; both sides of a pair are remembered. Numbers begin at 1.
constexpr int64_t kEnd = 4096, kSmall = 16384;
template <int64_t kMost>
struct Part {
  uint64_t number = 0;  // of the file
  int64_t offset = 0, length = 0;
  std::array<std::byte, kMost> bytes;
};
std::atomic<uint64_t> next_number = 1;

// number: of the file. first: where the part begins.
template <class Part>
Result<int64_t> read_of_part(int descriptor, const fs::path& path, uint64_t number, Part& part, int64_t first,
                             int64_t offset, std::span<std::byte> out) {
  if (part.number != number) {
    part.number = 0;
    part.offset = first;
    ASSAY_TRY(part.length, read_fully(descriptor, path, first, part.bytes));
    part.number = number;
  }
  const int64_t got = std::clamp<int64_t>(part.offset + part.length - offset, 0, std::ssize(out));
  std::copy_n(part.bytes.begin() + (offset - part.offset), got, out.begin());
  return got;
}

}  // namespace

std::string display(const fs::path& path) { return printable(path.native()); }

Result<std::shared_ptr<const File>> File::open(const fs::path& path) {
  // O_NONBLOCK: a pipe without a writer must not hang us before we have seen that it is a pipe.
  const int descriptor = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (descriptor < 0) {
    if (errno == ENXIO) return fail(ErrorKind::bad_format, "{}: is a socket, not a file", display(path));
    return fail(kind_of(errno), "{}: cannot be read: {}", display(path), system_message(errno));
  }
  struct stat status {};
  if (::fstat(descriptor, &status) != 0) {
    const int error = errno;
    ::close(descriptor);
    return fail(ErrorKind::io, "{}: cannot be read: {}", display(path), system_message(error));
  }
  if (!S_ISREG(status.st_mode)) {
    ::close(descriptor);
    return fail(ErrorKind::bad_format, "{}: is {}, not a file", display(path), what_it_is(status.st_mode));
  }
  return std::shared_ptr<const File>(new File(path, descriptor, status.st_size));
}

File::File(fs::path path, int descriptor, int64_t size)
    : path_(std::move(path)), descriptor_(descriptor), size_(size), number_(next_number++) {}

File::~File() { ::close(descriptor_); }

Result<int64_t> File::read_some(int64_t offset, std::span<std::byte> out) const {
  const int64_t wanted = std::ssize(out), tail = std::max<int64_t>(0, size_ - kEnd);
  const auto read_of = [&](auto& part, int64_t first) {
    return read_of_part(descriptor_, path_, number_, part, first, offset, out);
  };
  if (size_ <= kSmall && offset <= kSmall - wanted) {
    thread_local Part<kSmall> small[2];
    thread_local size_t oldest = 0;
    size_t at = small[0].number == number_ ? 0 : 1;
    if (small[at].number != number_) at = std::exchange(oldest, 1 - oldest);
    return read_of(small[at], 0);
  }
  const bool in_head = offset <= kEnd - wanted;  // a file may ask for any offset: nothing is added to it
  const bool in_tail = offset >= tail && offset <= size_ - wanted;
  if (wanted > kEnd || (!in_head && !in_tail)) return read_fully(descriptor_, path_, offset, out);
  thread_local Part<kEnd> head, last;
  return in_head ? read_of(head, 0) : read_of(last, tail);
}

Result<void> File::read(int64_t offset, std::span<std::byte> out) const {
  ASSAY_TRY(const int64_t got, read_some(offset, out));
  if (got < std::ssize(out))
    return fail(
        ErrorKind::bad_format,
        "{}: ends at byte {}, but {} bytes are wanted from byte {} (truncated, or still being written)",
        name(), offset + got, out.size(), offset);
  return {};
}

void File::will_need(int64_t offset, int64_t length) const {
  ::posix_fadvise(descriptor_, offset, length, POSIX_FADV_WILLNEED);
}

int64_t File::current_size() const {
  struct stat status {};
  return ::fstat(descriptor_, &status) == 0 ? status.st_size : 0;
}

const Mapping* File::mapping() const {
  std::call_once(mapped_, [this] { mapping_ = Mapping::make(descriptor_, size_); });
  return mapping_.get();
}

Result<FileWriter> FileWriter::create(const fs::path& path, IfExists if_exists, unsigned mode) {
  if (if_exists ==
      IfExists::refuse) {  // refused again, without a race, when it gets its name; this saves the work
    std::error_code ignored;
    if (fs::exists(fs::symlink_status(path, ignored)))
      return fail(ErrorKind::io, "{}: exists already and is left as it is; pass --force to replace it",
                  display(path));
  }
  // A file without a name disappears by itself however the program ends.
  const int descriptor = ::open(folder_of(path).c_str(), O_TMPFILE | O_RDWR | O_CLOEXEC, mode);
  if (descriptor >= 0) return FileWriter(path, if_exists, descriptor, {});
  if (errno == EOPNOTSUPP || errno == EISDIR || errno == EINVAL) {
    remove_leftovers_once(path.parent_path());
    for (int attempt = 0; attempt < kMaxAttempts; ++attempt) {
      const fs::path temporary = temporary_beside(path);
      const int named = ::open(temporary.c_str(), O_CREAT | O_EXCL | O_RDWR | O_CLOEXEC, mode);
      if (named < 0 && errno != EEXIST) break;
      if (named >= 0 && lock_temporary(named)) return FileWriter(path, if_exists, named, temporary);
      if (named >= 0) ::close(named);
    }
  }
  return fail(kind_of(errno), "{}: cannot be written: {}", display(path), system_message(errno));
}

FileWriter::FileWriter(fs::path path, IfExists if_exists, int descriptor, fs::path temporary)
    : path_(std::move(path)),
      if_exists_(if_exists),
      descriptor_(descriptor),
      temporary_(std::move(temporary)) {}

FileWriter::FileWriter(FileWriter&& other) noexcept
    : path_(std::move(other.path_)),
      if_exists_(other.if_exists_),
      descriptor_(std::exchange(other.descriptor_, -1)),
      temporary_(std::exchange(other.temporary_, {})),
      pending_(std::move(other.pending_)),
      size_(other.size_) {}

FileWriter::~FileWriter() {
  if (descriptor_ >= 0) ::close(descriptor_);
  if (!temporary_.empty()) ::unlink(temporary_.c_str());
}

Result<void> FileWriter::append(Bytes bytes) {
  if (pending_.size() + bytes.size() < kPendingLimit) {
    pending_.append(as_text(bytes));
    return {};
  }
  ASSAY_TRY_DO(flush());
  return write_at(size_, bytes);
}

Result<void> FileWriter::flush() {
  const std::string text = std::exchange(pending_, {});
  return write_at(size_, as_bytes(text));
}

Result<void> FileWriter::write_at(int64_t offset, Bytes bytes) {
  if (offset + std::ssize(bytes) > size_ && !pending_.empty()) {
    ASSAY_TRY_DO(flush());
  }
  int64_t done = 0;
  while (done < std::ssize(bytes)) {
    const ssize_t put =
        ::pwrite(descriptor_, bytes.data() + done, bytes.size() - static_cast<size_t>(done), offset + done);
    if (put < 0 && errno == EINTR) continue;
    if (put <= 0)
      return fail(ErrorKind::io, "{}: cannot be written: {}", name(),
                  system_message(put < 0 ? errno : ENOSPC));
    done += put;
  }
  size_ = std::max(size_, offset + done);
  return {};
}

Result<int64_t> FileWriter::read_some(int64_t offset, std::span<std::byte> out) {
  ASSAY_TRY_DO(flush());
  return read_fully(descriptor_, path_, offset, out);
}

Result<void> FileWriter::resize(int64_t size) {
  ASSAY_TRY_DO(flush());
  if (::ftruncate(descriptor_, size) != 0)
    return fail(ErrorKind::io, "{}: cannot be written: {}", name(), system_message(errno));
  size_ = size;
  return {};
}

Result<void> FileWriter::take_rights_of(const fs::path& path) {
  struct stat old {};
  struct stat own {};
  if (::stat(path.c_str(), &old) != 0 || ::fstat(descriptor_, &own) != 0) return {};
  mode_t mode = old.st_mode & 0777;
  const bool is_given = (own.st_uid == old.st_uid && own.st_gid == old.st_gid) ||
                        ::fchown(descriptor_, old.st_uid, old.st_gid) == 0 ||
                        ::fchown(descriptor_, static_cast<uid_t>(-1), old.st_gid) == 0;
  // Another group gets no more than everybody has.
  if (!is_given && own.st_gid != old.st_gid) mode &= 0707 | ((mode & 07) << 3);
  if (::fchmod(descriptor_, mode) != 0)
    return fail(ErrorKind::io, "{}: cannot get the mode of the file that it replaces: {}", name(),
                system_message(errno));
  return {};
}

Result<void> FileWriter::sync() {
  ASSAY_TRY_DO(flush());
  if (::fdatasync(descriptor_) != 0)
    return fail(ErrorKind::io, "{}: cannot be written: {}", name(), system_message(errno));
  return {};
}

Result<fs::path> FileWriter::publish() {
  ASSAY_TRY_DO(sync());
  if (if_exists_ == IfExists::replace) return replace();
  const std::string self =
      temporary_.empty() ? fmt::format("/proc/self/fd/{}", descriptor_) : temporary_.native();
  ASSAY_TRY(fs::path published,
            give_name(path_, if_exists_, [&](const fs::path& free) { return link_file(self, free); }));
  if (!temporary_.empty()) ::unlink(std::exchange(temporary_, {}).c_str());
  return published;
}

// Only a file with a name can take the place of another one.
Result<fs::path> FileWriter::replace() {
  if (temporary_.empty()) {
    const std::string self = fmt::format("/proc/self/fd/{}", descriptor_);
    int error = link_file(self, path_);
    if (error == 0) return path_;
    if (error == EEXIST) {
      remove_leftovers_once(path_.parent_path());
      ::flock(descriptor_, LOCK_EX | LOCK_NB);
      const fs::path temporary = temporary_beside(path_);
      error = link_file(self, temporary);
      if (error == 0) temporary_ = temporary;
    }
    if (error != 0) return fail(kind_of(error), "{}: cannot be written: {}", name(), system_message(error));
  }
  if (::rename(temporary_.c_str(), path_.c_str()) != 0)
    return fail(kind_of(errno), "{}: cannot be written: {}", name(), system_message(errno));
  temporary_.clear();
  return path_;
}

Result<void> check_replaceable(const fs::path& out) {
  std::error_code ignored;
  if (!fs::exists(fs::symlink_status(out, ignored)) || fs::is_regular_file(out, ignored)) return {};
  const bool is_folder = fs::is_directory(out, ignored);
  const bool is_there = fs::exists(out, ignored);
  return fail(ErrorKind::io, "{}: is {}, and --force replaces files only; choose another name", display(out),
              is_folder  ? "a folder"
              : is_there ? "a pipe, a socket or a device"
                         : "a link to a file that does not exist");
}

Result<void> make_folder(const fs::path& folder, unsigned mode) {
  if (folder.empty()) return {};
  std::error_code ignored;
  if (fs::is_directory(folder, ignored)) return {};
  ASSAY_TRY_DO(make_folder(folder.parent_path(), mode));
  if (::mkdir(folder.c_str(), mode) != 0 && errno != EEXIST)
    return fail(kind_of(errno), "{}: folder cannot be made: {}", display(folder), system_message(errno));
  if (!fs::is_directory(folder, ignored))
    return fail(ErrorKind::io, "{}: is in the way: not a folder", display(folder));
  return {};
}

}  // namespace assay

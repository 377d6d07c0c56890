#include "assay/run/cluster/journal.h"

#include "assay/base/crc32.h"
#include "assay/base/system_message.h"
#include "assay/run/cluster/bytes_codec.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>

namespace assay {
namespace {

// What a journal begins with; then who made it, on a line.
constexpr std::string_view kMagic = "assay journal 1\n";

// In front of each entry.
struct EntryHead {
  uint64_t name_size, work_size;
  uint32_t crc;  // of both
};

uint32_t crc_of(std::string_view name, std::string_view work) {
  return crc32_of(crc32_of(0, as_bytes(name)), as_bytes(work));
}

bool read_at(int descriptor, int64_t offset, char* out, size_t size) {
  while (size > 0) {
    const ssize_t got = ::pread(descriptor, out, size, offset);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return false;
    out += got;
    offset += got;
    size -= static_cast<size_t>(got);
  }
  return true;
}

}  // namespace

Journal::Journal(Journal&& other) noexcept
    : path_(std::move(other.path_)),
      descriptor_(std::exchange(other.descriptor_, -1)),
      end_(other.end_),
      kept_before_(other.kept_before_),
      places_(std::move(other.places_)) {}

Journal::~Journal() {
  if (descriptor_ >= 0) ::close(descriptor_);
}

Result<Journal> Journal::open(const fs::path& path, std::string_view made_by) {
  if (path.has_parent_path()) ASSAY_TRY_DO(make_folder(path.parent_path()));
  const int descriptor = ::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
  if (descriptor < 0)
    return fail(ErrorKind::io, "{}: cannot be written: {}", display(path), system_message(errno));
  Journal journal(path, descriptor);
  if (::flock(descriptor, LOCK_EX | LOCK_NB) != 0)
    return fail(ErrorKind::io, "{}: another run of this command is at work", display(path));
  ASSAY_TRY_DO(journal.read_all(made_by));
  return journal;
}

Result<void> Journal::read_all(std::string_view made_by) {
  const int64_t size = ::lseek(descriptor_, 0, SEEK_END);
  const std::string start = fmt::format("{}{}\n", kMagic, made_by);
  std::string found(std::min(start.size(), static_cast<size_t>(size)), '\0');
  if (!read_at(descriptor_, 0, found.data(), found.size()))
    return fail(ErrorKind::io, "{}: cannot be read: {}", display(path_), system_message(errno));
  if (!found.starts_with(kMagic) && !start.starts_with(found))
    return fail(ErrorKind::io, "{}: is no journal of ours and is left as it is", display(path_));
  const bool is_ours = found == start;
  if (is_ours) end_ = static_cast<int64_t>(start.size());
  std::string name, work;
  for (EntryHead head{};
       is_ours && read_at(descriptor_, end_, reinterpret_cast<char*>(&head), sizeof head);) {
    const auto room = static_cast<uint64_t>(size - end_) - sizeof head;
    if (head.name_size > room || head.work_size > room - head.name_size) break;
    name.resize(head.name_size);
    work.resize(head.work_size);
    const int64_t at = end_ + static_cast<int64_t>(sizeof head + name.size());
    if (!read_at(descriptor_, end_ + static_cast<int64_t>(sizeof head), name.data(), name.size()) ||
        !read_at(descriptor_, at, work.data(), work.size()) || crc_of(name, work) != head.crc)
      break;
    places_[name] = {at, static_cast<int64_t>(work.size())};
    end_ = at + static_cast<int64_t>(work.size());
  }
  kept_before_ = places_.size();
  if (::ftruncate(descriptor_, end_) != 0)
    return fail(ErrorKind::io, "{}: cannot be written: {}", display(path_), system_message(errno));
  return is_ours ? Result<void>() : append(start);
}

Result<void> Journal::append(std::string_view bytes) {
  for (size_t done = 0; done < bytes.size();) {
    const ssize_t put =
        ::pwrite(descriptor_, bytes.data() + done, bytes.size() - done, end_ + static_cast<int64_t>(done));
    if (put < 0 && errno == EINTR) continue;
    if (put <= 0)
      return fail(ErrorKind::io, "{}: cannot be written: {}", display(path_), system_message(errno));
    done += static_cast<size_t>(put);
  }
  end_ += std::ssize(bytes);
  return {};
}

Result<std::optional<std::string>> Journal::find(const std::string& name) const {
  const auto found = places_.find(name);
  if (found == places_.end()) return std::nullopt;
  std::string work(static_cast<size_t>(found->second.size), '\0');
  if (!read_at(descriptor_, found->second.offset, work.data(), work.size()))
    return fail(ErrorKind::io, "{}: cannot be read: {}", display(path_), system_message(errno));
  return work;
}

Result<void> Journal::keep(const std::string& name, std::string_view work) {
  const EntryHead head{name.size(), work.size(), crc_of(name, work)};
  std::string entry(reinterpret_cast<const char*>(&head), sizeof head);
  entry.append(name).append(work);
  ASSAY_TRY_DO(append(entry));
  places_[name] = {end_ - std::ssize(work), std::ssize(work)};
  return {};
}

void Journal::remove() { ::unlink(path_.c_str()); }

}  // namespace assay

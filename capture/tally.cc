#include "capture/tally.h"

#include "assay/base/file_signals.h"
#include "assay/base/files_and_lines.h"
#include "assay/base/system_message.h"
#include "assay/base/text.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

namespace assay::capture {
namespace {

constexpr size_t kPlace = 1024;  // bytes of one process
constexpr size_t kMostReason = 512, kMostRun = 64;
constexpr std::string_view kBehindKey = "\":{\"tensors\":";

std::string json_text(std::string_view text, size_t most) {
  std::string out = "\"";
  bool is_cut = false;
  for (const char c : text) {
    is_cut = out.size() + 2 > most;
    if (is_cut) break;
    if (c == '"' || c == '\\') out += '\\';
    out += static_cast<unsigned char>(c) < 0x20 ? '?' : c;
  }
  // A letter that was cut in the middle would be no UTF-8.
  while (is_cut && out.size() > 1 && (static_cast<unsigned char>(out.back()) & 0x80U) != 0) out.pop_back();
  return out + "\"";
}

std::string record(const Tally& t, const std::string& key, const std::string& run, bool has_ended,
                   bool is_first) {
  std::string text = fmt::format(
      R"({}"{}{}{},"bytes":{},"linked":{},"statistics":{},"lines":{},"filtered":{},"dropped":{},"waiting":{},"lost_lines":{},"lost":{},"lost_bytes":{},"first_loss":{},"run":{},"ended":{}}})",
      is_first ? " " : ",", key, kBehindKey, t.tensors, t.bytes, t.linked, t.statistics, t.lines, t.filtered,
      t.dropped, t.waiting, t.lost_lines, t.lost, t.lost_bytes, json_text(t.first_loss, kMostReason),
      json_text(run, kMostRun), has_ended);
  text.resize(kPlace - 1, ' ');
  return text + "\n";
}

constexpr std::string_view kBegin = "{\n", kEnd = "}\n";
constexpr auto kFirst = static_cast<int64_t>(kBegin.size());

// The name of the record that begins here; empty: none does.
std::string key_at(int file, int64_t at) {
  constexpr size_t kLongest = 64;
  std::string begin(kLongest, '\0');
  const ssize_t got = ::pread(file, begin.data(), begin.size(), at);
  const std::string_view text =
      std::string_view(begin).substr(0, static_cast<size_t>(std::max(got, ssize_t{0})));
  const size_t end = text.find(kBehindKey);
  if (end == std::string_view::npos || end < 2 || text[1] != '"') return {};
  return std::string(text.substr(2, end - 2));  // behind a comma or a blank, and the quote
}

// What a new record of this process is called: by its id, and by "{id}.2" where the file knows that one. A
// process may have several writers, and another that had the same id may have been there before.
std::string free_key(int file, int64_t end) {
  const std::string process = std::to_string(::getpid());
  int64_t known = 0;
  for (int64_t at = kFirst; at < end; at += static_cast<int64_t>(kPlace)) {
    const std::string key = key_at(file, at);
    known += key == process || key.starts_with(process + ".") ? 1 : 0;
  }
  return known == 0 ? process : process + "." + std::to_string(known + 1);
}

// All of it, or the file is what it was before. errno, or 0.
int overwrite(int file, std::string_view text, off_t at) {
  struct stat status {};
  std::string before(text.size(), '\0');
  const ssize_t old = ::pread(file, before.data(), before.size(), at);
  if (old < 0 || ::fstat(file, &status) != 0) return errno;
  const ssize_t done = ::pwrite(file, text.data(), text.size(), at);
  if (done == static_cast<ssize_t>(text.size())) return 0;
  int error = done < 0 ? errno : ENOSPC;
  if (done > 0 && ::pwrite(file, text.data() + done, text.size() - static_cast<size_t>(done), at + done) < 0)
    error = errno;  // why it was short
  const auto spoilt = std::min(std::max(done, ssize_t{0}), old);
  if (::pwrite(file, before.data(), static_cast<size_t>(spoilt), at) != spoilt ||
      ::ftruncate(file, status.st_size) != 0)
    return errno;
  return error;
}

// Others hold it for the time of one write.
bool lock_shortly(int file) {
  constexpr int kTries = 500;
  for (int i = 0; i < kTries; ++i) {
    if (::flock(file, LOCK_EX | LOCK_NB) == 0) return true;
    ::usleep(1000);
  }
  return false;
}

}  // namespace

bool Tally::is_empty() const {
  return tensors == 0 && statistics == 0 && lines == 0 && filtered == 0 && dropped == 0 && lost == 0;
}

void Tally::add_loss(int64_t size, const std::string& reason, int64_t of_lines) {
  if (lost == 0) first_loss = reason;
  lost += std::max<int64_t>(of_lines, 1);
  lost_lines += of_lines;
  lost_bytes += size;
}

std::string loss_sentence(const Tally& tally) {
  return fmt::format("{} ({}) {} lost; the first: {}", files_and_lines(tally.lost, tally.lost_lines),
                     format_size(tally.lost_bytes), tally.lost == 1 ? "was" : "were", tally.first_loss);
}

Result<void> TallyFile::write(const Tally& tally, bool has_ended, const Rights& rights) {
  if (path_.empty()) return {};
  if (is_busy_.test_and_set(std::memory_order_acquire))
    return fail(ErrorKind::io, "{}: another thread has it in hand", path_);
  const WithoutFileSignals quiet;
  Result<void> done = write_record(tally, has_ended, rights);
  is_busy_.clear(std::memory_order_release);
  return done;
}

Result<void> TallyFile::write_record(const Tally& tally, bool has_ended, const Rights& rights) {
  const auto open = [&] { return ::open(path_.c_str(), O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK); };
  int file = open();
  if (file < 0) {
    key_ = std::to_string(::getpid());
    const std::string text =
        std::string(kBegin) + record(tally, key_, run_, has_ended, true) + std::string(kEnd);
    const Bytes parts[] = {as_bytes(text)};
    const auto made = write_whole(path_, parts, Existing::refuse, rights);
    if (made) {
      place_ = kFirst;
      return {};
    }
    place_ = -1;
    file = open();  // another process was quicker
    if (file < 0) return tl::unexpected(made.error());
  }
  int error = 0;
  bool is_ours = true;
  if (place_ >= 0 && key_at(file, place_) != key_) place_ = -1;  // removed, and made again by somebody else
  if (place_ >= 0) {
    error = overwrite(file, record(tally, key_, run_, has_ended, place_ == kFirst), place_);
  } else if (!lock_shortly(file)) {
    error = EWOULDBLOCK;
  } else {
    struct stat status {};
    is_ours = ::fstat(file, &status) == 0 && !key_at(file, kFirst).empty();
    if (is_ours) {
      constexpr auto kStep = static_cast<int64_t>(kPlace);
      const int64_t at = kFirst + (status.st_size - kFirst) / kStep * kStep;  // over what was cut short
      key_ = free_key(file, at);
      error = overwrite(file, record(tally, key_, run_, has_ended, false) + std::string(kEnd), at);
      if (error == 0) place_ = at;
    }
    ::flock(file, LOCK_UN);  // said aloud: a child that was forked meanwhile has the file open too
  }
  ::close(file);
  if (!is_ours) return fail(ErrorKind::io, "{}: another file is in the way", path_);
  if (error == 0) return {};
  return fail(ErrorKind::io, "{}: cannot be written: {}", path_, system_message(error));
}

}  // namespace assay::capture

#include "capture/tally.h"

#include "assay/base/text.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

namespace assay::capture {
namespace {

constexpr size_t kPlace = 1024;  // bytes of one process
constexpr size_t kMostReason = 512;

std::string json_text(std::string_view text) {
  std::string out = "\"";
  for (const char c : text.substr(0, kMostReason)) {
    if (c == '"' || c == '\\') out += '\\';
    out += static_cast<unsigned char>(c) < 0x20 ? '?' : c;
  }
  // A letter that was cut in the middle would be no UTF-8.
  while (out.size() > 1 && (static_cast<unsigned char>(out.back()) & 0x80U) != 0 && text.size() > kMostReason)
    out.pop_back();
  return out + "\"";
}

std::string record(const Tally& t, bool is_first) {
  std::string text = fmt::format(
      R"({}"{}":{{"tensors":{},"bytes":{},"linked":{},"statistics":{},"lines":{},"filtered":{},"dropped":{},"lost":{},"lost_bytes":{},"first_loss":{}}})",
      is_first ? " " : ",", ::getpid(), t.tensors, t.bytes, t.linked, t.statistics, t.lines, t.filtered,
      t.dropped, t.lost, t.lost_bytes, json_text(t.first_loss));
  text.resize(kPlace - 1, ' ');
  return text + "\n";
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

std::string loss_sentence(const Tally& tally) {
  return fmt::format("{} file{} ({}) {} lost; the first: {}", tally.lost, tally.lost == 1 ? "" : "s",
                     format_size(tally.lost_bytes), tally.lost == 1 ? "was" : "were", tally.first_loss);
}

void TallyFile::write(const Tally& tally, const Rights& rights) {
  if (path_.empty()) return;
  constexpr std::string_view kBegin = "{\n", kEnd = "}\n";
  constexpr auto kFirst = static_cast<int64_t>(kBegin.size());
  int file = ::open(path_.c_str(), O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
  if (file < 0) {
    const std::string text = std::string(kBegin) + record(tally, true) + std::string(kEnd);
    const Bytes parts[] = {as_bytes(text)};
    place_ = write_whole(path_, parts, Existing::refuse, rights) ? kFirst : -1;
    if (place_ >= 0) return;
    file =
        ::open(path_.c_str(), O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);  // another process was quicker
  }
  if (file < 0) return;
  if (place_ < 0 && lock_shortly(file)) {
    struct stat status {};
    if (::fstat(file, &status) == 0 && status.st_size > kFirst) {
      const off_t at = status.st_size - static_cast<off_t>(kEnd.size());
      const std::string text = record(tally, false) + std::string(kEnd);
      if (::pwrite(file, text.data(), text.size(), at) == static_cast<ssize_t>(text.size())) place_ = at;
    }
    ::flock(file, LOCK_UN);  // said aloud: a child that was forked meanwhile has the file open too
  } else if (place_ >= 0) {
    const std::string text = record(tally, place_ == kFirst);
    if (::pwrite(file, text.data(), text.size(), place_) != static_cast<ssize_t>(text.size())) place_ = -1;
  }
  ::close(file);
}

}  // namespace assay::capture

#include "assay/base/folder_watch.h"

#include "assay/base/system_message.h"

#include <poll.h>
#include <sys/inotify.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

namespace assay {

Result<FolderWatch> FolderWatch::open() {
  const int descriptor = ::inotify_init1(IN_CLOEXEC | IN_NONBLOCK);
  if (descriptor < 0) return fail(ErrorKind::io, "folders cannot be watched: {}", system_message(errno));
  return FolderWatch(descriptor);
}

FolderWatch::FolderWatch(FolderWatch&& other) noexcept
    : descriptor_(std::exchange(other.descriptor_, -1)), folders_(std::move(other.folders_)) {}

FolderWatch::~FolderWatch() {
  if (descriptor_ >= 0) ::close(descriptor_);
}

bool FolderWatch::add(const fs::path& folder) {
  const int watch = ::inotify_add_watch(descriptor_, folder.c_str(),
                                        IN_CREATE | IN_CLOSE_WRITE | IN_MOVED_TO | IN_DELETE | IN_ONLYDIR);
  if (watch < 0) return false;
  folders_[watch] = folder;  // a folder that was moved keeps its number
  return true;
}

FolderWatch::Events FolderWatch::wait(int64_t most_ns) {
  Events events;
  pollfd ready{descriptor_, POLLIN, 0};
  constexpr int64_t kMillisecond = 1'000'000;
  const int timeout = static_cast<int>(std::clamp<int64_t>(most_ns / kMillisecond, 0, 60'000));
  if (::poll(&ready, 1, timeout) <= 0) return events;
  alignas(inotify_event) char buffer[1 << 16];
  for (;;) {
    const ssize_t got = ::read(descriptor_, buffer, sizeof buffer);
    if (got <= 0) return events;
    for (ssize_t at = 0; at + static_cast<ssize_t>(sizeof(inotify_event)) <= got;) {
      inotify_event event;
      std::memcpy(&event, buffer + at, sizeof event);
      const char* const name = buffer + at + sizeof event;
      at += static_cast<ssize_t>(sizeof event) + event.len;
      if ((event.mask & IN_Q_OVERFLOW) != 0) events.lost = true;
      if ((event.mask & IN_IGNORED) != 0) folders_.erase(event.wd);
      const auto folder = folders_.find(event.wd);
      if (folder == folders_.end() || event.len == 0) continue;
      fs::path path = folder->second / name;
      if ((event.mask & IN_ISDIR) != 0) {
        if ((event.mask & (IN_CREATE | IN_MOVED_TO)) != 0) events.folders.push_back(std::move(path));
      } else if ((event.mask & (IN_CLOSE_WRITE | IN_MOVED_TO)) != 0) {
        events.finished.push_back(std::move(path));
      } else if (name[0] != '.') {
        events.other = true;
      }
    }
  }
}

}  // namespace assay

#include "assay/base/worker_process.h"

#include "assay/base/cancel.h"

#include <fmt/format.h>

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

extern char** environ;

namespace assay {
namespace {

constexpr auto kGlance = std::chrono::milliseconds(100);  // how often a wait looks whether we are cancelled
constexpr size_t kMostInLine = size_t{1} << 20;
constexpr int kInput = 0, kOutput = 1;  // of the program
constexpr int kFirstOfOurs = 3;         // behind the standard streams, which may be closed

int moved_up(int descriptor) {
  if (descriptor < 0 || descriptor >= kFirstOfOurs) return descriptor;
  const int moved = ::fcntl(descriptor, F_DUPFD_CLOEXEC, kFirstOfOurs);
  ::close(descriptor);
  return moved;
}

Result<pid_t> spawn(std::vector<std::string> words, int socket) {
  std::vector<char*> pointers;
  for (std::string& word : words) pointers.push_back(word.data());
  pointers.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  ::posix_spawn_file_actions_init(&actions);
  ::posix_spawn_file_actions_adddup2(&actions, socket, kInput);
  ::posix_spawn_file_actions_adddup2(&actions, socket, kOutput);
  posix_spawnattr_t attributes;
  ::posix_spawnattr_init(&attributes);
  sigset_t defaults, none;  // what we catch or ignore is our business
  ::sigemptyset(&none);
  ::sigemptyset(&defaults);
  for (const int signal : {SIGINT, SIGTERM, SIGPIPE, SIGXFSZ, SIGBUS}) ::sigaddset(&defaults, signal);
  ::posix_spawnattr_setsigdefault(&attributes, &defaults);
  ::posix_spawnattr_setsigmask(&attributes, &none);
  ::posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETSIGMASK);
  pid_t child = -1;
  const int error = ::posix_spawnp(&child, pointers[0], &actions, &attributes, pointers.data(), environ);
  ::posix_spawnattr_destroy(&attributes);
  ::posix_spawn_file_actions_destroy(&actions);
  if (error == 0) return child;
  return fail(error == ENOENT ? ErrorKind::not_found : ErrorKind::unsupported, "{}: cannot be run: {}",
              words[0], std::strerror(error));
}

}  // namespace

Result<WorkerProcess> WorkerProcess::start(const std::vector<std::string>& words) {
  int ends[2] = {-1, -1};
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0)
    return fail(ErrorKind::io, "{}: no socket for it: {}", words[0], std::strerror(errno));
  const int ours = moved_up(ends[0]), theirs = moved_up(ends[1]);
  auto child =
      ours < 0 || theirs < 0 ? fail(ErrorKind::io, "{}: no socket for it", words[0]) : spawn(words, theirs);
  if (theirs >= 0) ::close(theirs);
  if (child) return WorkerProcess(*child, ours);
  if (ours >= 0) ::close(ours);
  return tl::unexpected<Error>(std::move(child.error()));
}

WorkerProcess::WorkerProcess(WorkerProcess&& other) noexcept
    : child_(std::exchange(other.child_, -1)),
      socket_(std::exchange(other.socket_, -1)),
      received_(std::move(other.received_)) {}

WorkerProcess& WorkerProcess::operator=(WorkerProcess&& other) noexcept {
  std::swap(child_, other.child_);
  std::swap(socket_, other.socket_);
  std::swap(received_, other.received_);
  return *this;
}

WorkerProcess::~WorkerProcess() { end(); }

std::string WorkerProcess::end() {
  if (socket_ >= 0) ::close(std::exchange(socket_, -1));
  if (child_ <= 0) return {};
  const pid_t child = std::exchange(child_, -1);
  int status = 0;
  // One that crashed closes its end a moment before it is over.
  for (int i = 0; i < 10; ++i) {
    const pid_t ended = ::waitpid(child, &status, WNOHANG);
    if (ended == child)
      return WIFSIGNALED(status) ? fmt::format("signal {}", WTERMSIG(status))
                                 : fmt::format("status {}", WEXITSTATUS(status));
    if (ended < 0 && errno != EINTR) return {};
    ::usleep(5000);
  }
  ::kill(child, SIGKILL);
  while (::waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  return {};
}

Result<void> WorkerProcess::wait_for(short events, Deadline deadline) const {
  while (true) {
    ASSAY_TRY_DO(check_cancelled());
    const auto left =
        std::chrono::duration_cast<std::chrono::milliseconds>(deadline - std::chrono::steady_clock::now());
    if (left.count() <= 0) return fail(ErrorKind::limit, "takes too long");
    pollfd waiting{socket_, events, 0};
    const int ready = ::poll(&waiting, 1, static_cast<int>(std::min(left, kGlance).count()));
    if (ready > 0) return {};
    if (ready < 0 && errno != EINTR) return fail(ErrorKind::io, "{}", std::strerror(errno));
  }
}

Result<void> WorkerProcess::send(Bytes bytes, Deadline deadline) {
  while (!bytes.empty()) {
    const ssize_t sent = ::send(socket_, bytes.data(), bytes.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
    if (sent > 0) {
      bytes = bytes.subspan(static_cast<size_t>(sent));
    } else if (errno == EAGAIN || errno == EWOULDBLOCK) {
      ASSAY_TRY_DO(wait_for(POLLOUT, deadline));
    } else if (errno != EINTR) {
      return fail(ErrorKind::io, "ended");
    }
  }
  return {};
}

Result<std::string> WorkerProcess::receive_line(Deadline deadline) {
  size_t looked = 0;
  while (true) {
    if (const size_t end = received_.find('\n', looked); end != std::string::npos) {
      std::string line = received_.substr(0, end);
      received_.erase(0, end + 1);
      return line;
    }
    looked = received_.size();
    if (looked > kMostInLine) return fail(ErrorKind::limit, "answers at too great a length");
    ASSAY_TRY_DO(wait_for(POLLIN, deadline));
    char buffer[4096];
    const ssize_t got = ::recv(socket_, buffer, sizeof buffer, MSG_DONTWAIT);
    if (got > 0)
      received_.append(buffer, static_cast<size_t>(got));
    else if (got == 0 || (errno != EINTR && errno != EAGAIN))
      return fail(ErrorKind::io, "ended");
  }
}

}  // namespace assay

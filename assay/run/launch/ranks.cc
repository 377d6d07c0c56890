#include "assay/run/launch/ranks.h"

#include "assay/base/text.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <ctime>

namespace assay {
namespace {

constexpr int64_t kLongestStart = 600;  // seconds between the first rank and the last
constexpr size_t kLongestText = 1 << 16;

std::string environment_text(const char* name) {
  const char* const value = std::getenv(name);
  return value == nullptr ? "" : value;
}

// Ranks of one start have the port of their master in common, or at least the program that started them.
std::string name_of_start() {
  const auto port = parse_int(environment_text("MASTER_PORT"));
  return port ? fmt::format(".assay_ranks_port_{}", *port) : fmt::format(".assay_ranks_of_{}", ::getppid());
}

std::string name_of_rank() {
  const auto rank = parse_int(environment_text("LOCAL_RANK"));
  return rank ? fmt::format("{}", *rank) : fmt::format("process_{}", ::getpid());
}

struct Start {
  int64_t seconds = 0;
  std::vector<std::string> ranks;
};

std::optional<Start> read_start(int file) {
  std::string text(kLongestText, '\0');
  const ssize_t got = ::pread(file, text.data(), text.size(), 0);
  text.resize(static_cast<size_t>(std::max<ssize_t>(got, 0)));
  const auto words = split(text, ' ');
  const auto seconds = parse_int(words.front());
  if (!seconds) return std::nullopt;
  return Start{*seconds, {words.begin() + 1, words.end()}};
}

bool lock(int file) {
  constexpr int kTries = 500;
  for (int i = 0; i < kTries; ++i) {
    if (::flock(file, LOCK_EX | LOCK_NB) == 0) return true;
    ::usleep(10'000);
  }
  return false;
}

// Nothing: the file was removed between its opening and its locking.
std::optional<Moment> join(int file, const fs::path& path, int64_t ranks,
                           const std::function<Moment()>& choose) {
  struct stat status {};
  if (!lock(file) || ::fstat(file, &status) != 0 || !S_ISREG(status.st_mode)) return choose();
  if (status.st_nlink == 0) return std::nullopt;
  std::optional<Start> start = read_start(file);
  const std::string rank = name_of_rank();
  const bool is_over = start && (std::time(nullptr) - status.st_mtim.tv_sec > kLongestStart ||
                                 std::ranges::find(start->ranks, rank) != start->ranks.end());
  if (!start || is_over) start = Start{choose().seconds, {}};
  start->ranks.push_back(rank);
  if (static_cast<int64_t>(start->ranks.size()) >= ranks) {
    ::unlink(path.c_str());
    return Moment{start->seconds};
  }
  const std::string text = fmt::format("{} {}", start->seconds, fmt::join(start->ranks, " "));
  if (::ftruncate(file, 0) != 0 ||
      ::pwrite(file, text.data(), text.size(), 0) != static_cast<ssize_t>(text.size()))
    ::unlink(path.c_str());
  return Moment{start->seconds};
}

}  // namespace

int64_t ranks_here() {
  return std::max<int64_t>(parse_int(environment_text("LOCAL_WORLD_SIZE")).value_or(1), 1);
}

Moment time_of_ranks(const fs::path& root, int64_t ranks, const std::function<Moment()>& choose) {
  const fs::path path = root / name_of_start();
  constexpr int kTries = 100;
  for (int i = 0; i < kTries; ++i) {
    const int file = ::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0600);
    if (file < 0) break;
    const auto time = join(file, path, ranks, choose);
    ::close(file);
    if (time) return *time;
  }
  return choose();
}

}  // namespace assay

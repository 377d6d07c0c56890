#include "assay/run/launch/ranks.h"

#include "assay/base/text.h"

#include <fmt/format.h>

#include <fcntl.h>
#include <signal.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdlib>
#include <ctime>
#include <limits>
#include <optional>

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

struct Rank {
  std::string name;
  int64_t process = 0;  // of its launcher; 0: it has ended

  bool runs() const { return process > 0 && (::kill(static_cast<pid_t>(process), 0) == 0 || errno == EPERM); }
};

struct Start {
  int64_t seconds = 0;
  std::vector<Rank> ranks;

  bool runs() const { return std::ranges::any_of(ranks, &Rank::runs); }
  bool has(std::string_view name) const { return std::ranges::find(ranks, name, &Rank::name) != ranks.end(); }
};

// "1767323040 0:4001 2:4007": the time, and each rank with its launcher.
std::optional<Start> read_start(int file) {
  std::string text(kLongestText, '\0');
  const ssize_t got = ::pread(file, text.data(), text.size(), 0);
  text.resize(static_cast<size_t>(std::max<ssize_t>(got, 0)));
  const auto words = split(text, ' ');
  const auto seconds = parse_int(words.front());
  if (!seconds) return std::nullopt;
  Start start{*seconds, {}};
  for (size_t i = 1; i < words.size(); ++i) {
    const auto parts = split(words[i], ':');
    const auto process = parts.size() == 2 ? parse_int(parts[1]) : std::nullopt;
    const bool is_one = process && *process >= 0 && *process <= std::numeric_limits<pid_t>::max();
    if (is_one) start.ranks.push_back({std::string(parts[0]), *process});
  }
  return start;
}

bool write_start(int file, const Start& start) {
  std::string text = fmt::format("{}", start.seconds);
  for (const Rank& rank : start.ranks) text += fmt::format(" {}:{}", rank.name, rank.process);
  return ::ftruncate(file, 0) == 0 &&
         ::pwrite(file, text.data(), text.size(), 0) == static_cast<ssize_t>(text.size());
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
std::optional<RanksOfStart> join(int file, const fs::path& path, int64_t ranks,
                                 const std::function<Moment()>& choose) {
  struct stat status {};
  if (!lock(file) || ::fstat(file, &status) != 0 || !S_ISREG(status.st_mode)) return RanksOfStart{choose()};
  if (status.st_nlink == 0) return std::nullopt;
  std::optional<Start> start = read_start(file);
  const Rank rank{name_of_rank(), static_cast<int64_t>(::getpid())};
  const bool is_over = start && (std::time(nullptr) - status.st_mtim.tv_sec > kLongestStart ||
                                 start->has(rank.name) || !start->runs());
  if (!start || is_over) start = Start{choose().seconds, {}};
  start->ranks.push_back(rank);
  const RanksOfStart joined{Moment{start->seconds}, path};
  if (static_cast<int64_t>(start->ranks.size()) < ranks && write_start(file, *start)) return joined;
  ::unlink(path.c_str());
  return RanksOfStart{joined.time};
}

int open_start(const fs::path& path, int flags) {
  return ::open(path.c_str(), O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | flags, 0600);
}

}  // namespace

int64_t ranks_here() {
  return std::max<int64_t>(parse_int(environment_text("LOCAL_WORLD_SIZE")).value_or(1), 1);
}

RanksOfStart join_ranks(const fs::path& root, int64_t ranks, const std::function<Moment()>& choose) {
  const fs::path path = root / name_of_start();
  constexpr int kTries = 100;
  for (int i = 0; i < kTries; ++i) {
    const int file = open_start(path, O_CREAT);
    if (file < 0) break;
    auto start = join(file, path, ranks, choose);
    ::close(file);
    if (start) return std::move(*start);
  }
  return {choose()};
}

void leave_ranks(const RanksOfStart& joined) {
  if (joined.file.empty()) return;
  const int file = open_start(joined.file, 0);
  if (file < 0) return;  // all ranks came
  if (std::optional<Start> start = lock(file) ? read_start(file) : std::nullopt; start) {
    for (Rank& rank : start->ranks)
      if (rank.process == ::getpid()) rank.process = 0;
    const bool is_ours = start->seconds == joined.time.seconds;
    if (is_ours && (!start->runs() || !write_start(file, *start))) ::unlink(joined.file.c_str());
  }
  ::close(file);
}

}  // namespace assay

#include "assay/base/cancel.h"
#include "assay/base/console.h"
#include "assay/base/crc32.h"
#include "assay/base/passed_on.h"
#include "assay/run/cluster/cluster.h"

#include <mpi.h>
#include <unistd.h>

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <condition_variable>
#include <cstdlib>
#include <deque>
#include <list>
#include <mutex>
#include <optional>
#include <thread>

namespace assay {
namespace {

using Clock = std::chrono::steady_clock;
using namespace std::chrono_literals;

enum Tag : int { kMail, kWake, kEnd, kAlive };

constexpr auto kHeartbeat = 1s;
// A process that says nothing for so long is lost.
std::chrono::seconds patience() {
  const char* const text = std::getenv("ASSAY_MPI_PATIENCE");
  const int asked = text == nullptr ? 0 : std::atoi(text);
  return std::chrono::seconds(asked > 0 ? asked : 60);
}

// What launchers leave in the environment of the processes that they start. Without one we stand alone, and
// MPI, which would start helpers of its own, is left out of it.
bool was_launched() {
  static constexpr std::array kNames = {"OMPI_COMM_WORLD_SIZE", "PMIX_RANK", "PMI_RANK", "PMI_FD"};
  return std::ranges::any_of(kNames, [](const char* name) { return std::getenv(name) != nullptr; });
}

// Slurm starts as many programs that know nothing of each other where its MPI is not the one we have.
bool are_strangers() {
  const char* const tasks = std::getenv("SLURM_STEP_NUM_TASKS");
  return tasks != nullptr && std::atoi(tasks) > 1;
}

// All of MPI happens on one thread, which begins and ends it: it asks for messages now and then instead of
// waiting for one, since OpenMPI waits with all the power of a core.
class MpiLink final : public Link {
 public:
  MpiLink() {
    thread_ = std::thread([this] { live(); });
    std::unique_lock lock(guard_);
    changed_.wait(lock, [this] { return has_begun_; });
  }
  ~MpiLink() override {
    {
      const std::lock_guard lock(guard_);
      is_ending_ = true;
    }
    changed_.notify_all();
    thread_.join();
  }

  int rank() const override { return rank_; }
  int size() const override { return size_; }
  std::string host_of(int rank) const override { return hosts_[static_cast<size_t>(rank)]; }
  void wake_others() override {
    for (int to = 1; to < size_ && !were_woken_; ++to) post(to, kWake, {});
    were_woken_ = true;
  }
  void send(int to, std::string message) override { post(to, kMail, std::move(message)); }
  void listen(std::function<void(int, std::string_view)> receive) override {
    const std::lock_guard lock(handing_over_);
    receive_ = std::move(receive);
  }
  // Of a process that does not lead. Does not return where the run ends before.
  void wait_until_woken() {
    std::unique_lock lock(guard_);
    changed_.wait(lock, [this] { return was_woken_; });
  }
  [[noreturn]] static void wait_for_end() {
    for (;;) std::this_thread::sleep_for(1h);
  }

 private:
  struct Outgoing {
    int to;
    Tag tag;
    std::string bytes;
    MPI_Request request = MPI_REQUEST_NULL;
  };
  struct Incoming {
    int from;
    std::string bytes;
  };

  void post(int to, Tag tag, std::string bytes) {
    {
      const std::lock_guard lock(guard_);
      outgoing_.push_back({to, tag, std::move(bytes)});
    }
    changed_.notify_all();
  }

  void live() {
    begin();
    auto pause = 50us;
    for (;;) {
      const bool moved = send_what_waits() | receive_what_came() | hand_over();
      keep_in_touch();
      const bool is_quiet = [&] {
        const std::lock_guard lock(guard_);
        return outgoing_.empty() && under_way_.empty();
      }();
      if (has_ended_) return leave_at_once();
      if (is_ending_ && is_quiet && !moved) return end();
      pause = moved ? 50us : std::min<std::chrono::microseconds>(2 * pause, 1000us);
      std::unique_lock lock(guard_);
      changed_.wait_for(lock, pause, [this] { return !outgoing_.empty(); });
    }
  }

  void begin() {
    int given = 0;
    MPI_Init_thread(nullptr, nullptr, MPI_THREAD_FUNNELED, &given);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank_);
    MPI_Comm_size(MPI_COMM_WORLD, &size_);
    std::array<char, 256> own{};
    ::gethostname(own.data(), own.size() - 1);
    std::vector<char> all(own.size() * static_cast<size_t>(size_));
    MPI_Allgather(own.data(), own.size(), MPI_CHAR, all.data(), own.size(), MPI_CHAR, MPI_COMM_WORLD);
    for (int i = 0; i < size_; ++i) hosts_.emplace_back(all.data() + own.size() * static_cast<size_t>(i));
    heard_.assign(static_cast<size_t>(size_), Clock::now());
    is_lost_.assign(static_cast<size_t>(size_), false);
    const std::lock_guard lock(guard_);
    has_begun_ = true;
    changed_.notify_all();
  }

  bool send_what_waits() {
    {
      const std::lock_guard lock(guard_);
      under_way_.splice(under_way_.end(), outgoing_);
    }
    bool moved = false;
    for (auto each = under_way_.begin(); each != under_way_.end();) {
      int is_done = is_lost_[static_cast<size_t>(each->to)] ? 1 : 0, error = MPI_SUCCESS;
      if (each->request == MPI_REQUEST_NULL && is_done == 0) {
        error = MPI_Isend(each->bytes.data(), static_cast<int>(each->bytes.size()), MPI_CHAR, each->to,
                          each->tag, MPI_COMM_WORLD, &each->request);
        moved = true;
      }
      if (error == MPI_SUCCESS && is_done == 0) error = MPI_Test(&each->request, &is_done, MPI_STATUS_IGNORE);
      if (error != MPI_SUCCESS) lose(each->to);
      each = is_done != 0 || error != MPI_SUCCESS ? under_way_.erase(each) : std::next(each);
    }
    return moved;
  }

  bool receive_what_came() {
    bool moved = false;
    for (;;) {
      int is_there = 0;
      MPI_Status status;
      if (MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &is_there, &status) != MPI_SUCCESS ||
          is_there == 0)
        return moved;
      int count = 0;
      MPI_Get_count(&status, MPI_CHAR, &count);
      std::string bytes(static_cast<size_t>(count), '\0');
      const int from = status.MPI_SOURCE;
      if (MPI_Recv(bytes.data(), count, MPI_CHAR, from, status.MPI_TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE) !=
          MPI_SUCCESS) {
        lose(from);
        continue;
      }
      heard_[static_cast<size_t>(from)] = Clock::now();
      if (status.MPI_TAG == kMail) arrived_.push_back({from, std::move(bytes)});
      if (status.MPI_TAG == kEnd) has_ended_ = true;
      if (status.MPI_TAG == kWake) {
        const std::lock_guard lock(guard_);
        was_woken_ = true;
        changed_.notify_all();
      }
      moved |= status.MPI_TAG != kAlive;
    }
  }

  bool hand_over() {
    const std::lock_guard lock(handing_over_);
    if (!receive_ || arrived_.empty()) return false;
    for (; !arrived_.empty(); arrived_.pop_front()) receive_(arrived_.front().from, arrived_.front().bytes);
    return true;
  }

  // Everybody and process 0 tell each other that they are there.
  void keep_in_touch() {
    const auto now = Clock::now();
    const bool speaks = now - spoke_ >= kHeartbeat;
    if (speaks) spoke_ = now;
    for (int other = rank_ == 0 ? 1 : 0; other < (rank_ == 0 ? size_ : 1); ++other) {
      if (is_lost_[static_cast<size_t>(other)]) continue;
      if (speaks) post(other, kAlive, {});
      if (now - heard_[static_cast<size_t>(other)] > patience_) lose(other);
    }
  }

  void lose(int other) {
    if (is_lost_[static_cast<size_t>(other)]) return;
    is_lost_[static_cast<size_t>(other)] = true;
    if (rank_ != 0 && other == 0) has_ended_ = true;  // nobody waits for us any more
    arrived_.push_back({other, {}});
  }

  // Process 0, when all is said.
  void end() {
    for (int to = 1; to < size_; ++to)
      if (!is_lost_[static_cast<size_t>(to)]) MPI_Send(nullptr, 0, MPI_CHAR, to, kEnd, MPI_COMM_WORLD);
    finalize();
  }

  [[noreturn]] void leave_at_once() {
    finalize();
    ::_exit(0);
  }

  // It waits for everybody: not where somebody may be gone.
  void finalize() {
    if (!cancelled() && std::ranges::find(is_lost_, true) == is_lost_.end()) MPI_Finalize();
  }

  const std::chrono::seconds patience_ = patience();
  int rank_ = 0, size_ = 1;
  std::vector<std::string> hosts_;
  // Of the thread of MPI alone.
  std::list<Outgoing> under_way_;
  std::deque<Incoming> arrived_;
  std::vector<Clock::time_point> heard_;
  std::vector<bool> is_lost_;
  Clock::time_point spoke_ = Clock::now();
  bool has_ended_ = false;

  std::mutex handing_over_;  // who stops listening hears nothing afterwards
  std::function<void(int, std::string_view)> receive_;
  std::mutex guard_;
  std::condition_variable changed_;
  std::list<Outgoing> outgoing_;
  bool has_begun_ = false, was_woken_ = false, were_woken_ = false;
  std::atomic<bool> is_ending_ = false;
  std::thread thread_;
};

MpiLink* own_link = nullptr;
std::filesystem::path own_journal;

// The journal of a command lies where its reports go, under a name of its own.
std::filesystem::path journal_of(const std::vector<std::string>& words) {
  static constexpr std::array<std::string_view, 5> kOutputs = {"--output", "-o", "--output_path",
                                                               "--output-path", "-output"};
  std::filesystem::path folder = ".";
  std::string all;
  for (size_t i = 1; i < words.size(); ++i) {
    all += words[i] + '\0';
    const std::string_view word = words[i];
    const size_t equals = word.find('=');
    if (std::ranges::find(kOutputs, word.substr(0, equals)) == kOutputs.end()) continue;
    if (equals != std::string_view::npos)
      folder = word.substr(equals + 1);
    else if (i + 1 < words.size())
      folder = words[i + 1];
  }
  if (folder == "-") folder = ".";
  return folder / fmt::format(".assay_resume_{:08x}", crc32_of(0, as_bytes(all)));
}

// mpirun makes terminals for the processes that it starts, whatever it writes to itself. Where it is on
// another host, nobody can tell.
bool launcher_has_terminal(int stream) {
  std::error_code error;
  const std::filesystem::path to =
      std::filesystem::read_symlink(fmt::format("/proc/{}/fd/{}", ::getppid(), stream), error);
  return !error && (to.native().starts_with("/dev/pts/") || to.native().starts_with("/dev/tty"));
}

}  // namespace

Link* cluster_link() { return own_link != nullptr && own_link->size() > 1 ? own_link : nullptr; }

std::filesystem::path cluster_journal() { return own_journal; }

int run_in_cluster(std::vector<std::string> words,
                   const std::function<int(const std::vector<std::string>& words)>& program) {
  const auto end = std::ranges::find(words, "--");
  const auto asked = std::find(words.begin(), end, "--resume");
  const bool resumes = asked != end;
  if (resumes) {
    words.erase(asked);
    own_journal = journal_of(words);
  }
  if (!was_launched()) {
    if (are_strangers()) {
      static_cast<void>(console::write_line(console::Stream::err,
                                            "assay: Slurm started several programs that cannot see each "
                                            "other; use srun --mpi=pmix, or mpirun"));
      return 2;
    }
    return program(words);
  }
  MpiLink link;
  own_link = &link;
  if (link.rank() == 0) {
    console::end_at_no_terminal(!launcher_has_terminal(1), !launcher_has_terminal(2));
    return program(words);
  }
  console::fall_silent();
  link.wait_until_woken();
  program(words);
  MpiLink::wait_for_end();
}

std::string describe_cluster() {
  if (own_link == nullptr) return "one; mpirun starts several";
  std::string hosts;
  for (int rank = 0; rank < own_link->size(); ++rank)
    if (const std::string host = own_link->host_of(rank); rank == 0 || host != own_link->host_of(rank - 1))
      hosts += (hosts.empty() ? "" : ", ") + host;
  return fmt::format("{} on {}", own_link->size(), hosts);
}

}  // namespace assay

// Takes tensors and lines of text from any thread and writes them behind the caller's back: docs/capture.md
//
//   Writer writer({.root = "dump"});
//   Task task{.path = "dump/x.npy", .around = npy_around(meta)};
//   writer.save(std::move(task), {bytes});
//
// Nothing here fails, throws or waits without bound: what cannot be written is counted and told once on
// standard error.
#pragma once

#include "capture/slabs.h"
#include "capture/statistics.h"
#include "capture/tables.h"
#include "capture/tally.h"
#include "capture/turns.h"

#include <atomic>
#include <condition_variable>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <unordered_map>
#include <vector>

#include <pthread.h>

namespace assay::capture {

struct WriterConfig {
  std::string root = {};              // folder of capture.json; empty: none is written
  int64_t budget = int64_t{1} << 30;  // bytes of everything that waits
  int threads = 0;                    // 0: by the number of cores, two to four
  bool drops_data =
      false;  // where the budget is used up: statistics are kept, data are not; else the caller waits
  int64_t patience_ms = 60'000;     // how long a caller waits for a disk on which nothing gets done
  int64_t reserve = 0;              // bytes that stay free on the disk
  LinkKind links = LinkKind::none;  // equal tensors are stored once
  Rights rights = {};
  std::string run = {};  // what capture.json knows the start of this program by
};

// The bytes of a tensor in the caller's memory.
struct Source {
  Bytes bytes;
  void (*release)(void*) =
      nullptr;  // called once, from any thread, when they are no longer needed; null: they are copied now
  void* release_argument = nullptr;
};

struct Parts {
  std::string before, behind;
};

struct Task {
  std::string path;             // empty: no file
  bool has_data = true;         // the bytes belong into the file
  bool is_tensor = true;        // counted as one
  bool has_statistics = false;  // without its data the file still holds these, and counts as such
  Existing existing = Existing::number;
  DType dtype = DType::u8;
  int64_t count = 0;
  Wanted wanted = {false, false, false};
  // What stands around the bytes; nothing: no file without its data.
  std::function<std::optional<Parts>(const Statistics&, bool has_data)> around = {};
  // One line for `table`, which begins with `header`. `path`: the name that the file got; empty: none.
  std::string table = {}, header = {};
  std::function<std::string(const Statistics&, const std::string& path)> row = {};
  std::function<void(const Statistics&)> measured = {};

  bool keeps_statistics_alone() const { return !has_data && has_statistics; }
};

class Writer {
 public:
  explicit Writer(WriterConfig config);
  ~Writer();
  Writer(const Writer&) = delete;
  Writer& operator=(const Writer&) = delete;

  void save(Task task, const Source& source);
  // In the order of the calls, a file's first one behind `header`.
  void append(const std::string& path, const std::string& header, std::string line);
  // The whole content of a file, in the place of what was there.
  void replace(std::string path, std::string text);
  // Told only, for the tally.
  void count_filtered();
  void count_statistics();  // taken by the caller, of a tensor that is not kept

  // Everything that was handed in before is in its file. False: the time was over.
  bool flush(int64_t timeout_ms);
  // The same, and ends the threads. What is handed in afterwards is written at once, by the caller. False:
  // threads hang on a disk that answers nobody, and the writer has to live as long as they do.
  bool close();

  Tally tally();
  const WriterConfig& config() const { return config_; }

 private:
  struct Job {
    Task task;
    Bytes data = {};
    Slab slab = {};                    // where `data` lies, if it was copied
    void (*release)(void*) = nullptr;  // if it was not
    void* release_argument = nullptr;
    std::optional<Statistics> statistics = {};  // if they were taken before
    std::shared_ptr<Tables::Slot> slot = {};
    int64_t cost = 0;
    size_t name = 0;  // of its file, as Turns knows it
    Job* next_in_hand = nullptr;
  };
  struct Outcome {
    std::string path, row;
  };
  struct Known {
    bool is_written = false;
    std::string path;
  };
  friend class ForkGuard;

  template <class HasCome>
  bool wait_for(std::unique_lock<std::mutex>& lock, HasCome has_come);
  bool admit(std::unique_lock<std::mutex>& lock, int64_t cost, int64_t most, bool waits);
  // Grows as long as something gets done: a disk on which it does is slow, not dead.
  int64_t progress() const { return finished_ + pieces_.load(std::memory_order_relaxed); }
  bool is_given_up() const { return progress() == given_up_at_; }
  bool is_idle() const { return jobs_.empty() && in_hand_ == nullptr && active_ == 0; }
  void reserve_line(Job& job);
  void run_now(std::unique_lock<std::mutex>& lock, Job& job);
  void enqueue(std::unique_lock<std::mutex>& lock, Job job);
  void start_threads();
  static void* work(void* self);
  Statistics measured(const Job& job);
  Outcome carry_out(Job& job);
  void run(Job& job);
  std::string write_file(const Task& task, Bytes data, const Statistics& statistics, bool has_data);
  Result<std::string> write_or_link(const Task& task, std::span<const Bytes> parts, Bytes data,
                                    const Statistics& statistics);
  bool has_room(const std::string& path, int64_t bytes);
  void lose(int64_t bytes, const std::string& reason, int64_t lines = 0);
  void lose_unadmitted(std::unique_lock<std::mutex>& lock, Job& job);
  static bool brings_file(const Job& job);
  void add_unwritten(Tally& tally) const;
  void write_tables(std::unique_lock<std::mutex>& lock);
  Result<void> write_last_tally(const Tally& tally);
  void give_back(Job& job);
  void take_in_hand(Job& job);
  void put_away(const Job& job);
  void forget_parent();
  bool is_time_for_tally(int64_t now) const;
  Tally tally_now() const;  // with what waits

  const WriterConfig config_;
  Slabs slabs_;
  TallyFile tally_file_;

  std::mutex guard_;                     // of all below; never held while a file is touched
  std::condition_variable work_, done_;  // done_: there is room, or everything is written
  std::deque<Job> jobs_;
  Turns<Job> turns_;  // of files; those that wait for theirs are not among jobs_
  Tables tables_;
  std::unordered_map<uint64_t, Known> known_;  // by content
  std::deque<uint64_t> known_order_;
  std::vector<pthread_t> threads_;
  int64_t waiting_ = 0;             // bytes
  int64_t finished_ = 0;            // jobs
  std::atomic<int64_t> pieces_{0};  // of jobs that are not finished
  std::atomic<int> measuring_{0};   // threads that take statistics, which needs no disk
  int64_t given_up_at_ = -1;        // what it was when a caller's patience was over
  Job* in_hand_ = nullptr;          // of all threads, one after the other
  int active_ = 0;                  // those that write tables or the tally
  int admitting_ = 0;  // callers who wait for room: only they must hear of every job that is done
  bool is_closing_ = false, is_stuck_ = false, has_told_ = false;
  Tally tally_;
  int64_t tally_written_at_ = 0, tables_written_at_ = 0;  // ms
  int64_t room_ = 0, room_seen_at_ = 0;
};

}  // namespace assay::capture

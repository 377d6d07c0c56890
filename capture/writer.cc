#include "capture/writer.h"

#include "assay/base/file_signals.h"
#include "capture/fork_guard.h"
#include "capture/say.h"

#include <sched.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstring>

namespace assay::capture {
namespace {

constexpr int64_t kJobOverhead = 512;   // of a job besides its bytes
constexpr size_t kMostKnown = 1 << 16;  // contents that are remembered, to be linked to
constexpr int64_t kIdleMs = 5000;       // after which memory goes back to the system
constexpr int64_t kTallyEveryMs = 1000;
constexpr int64_t kRoomEveryMs = 200;
constexpr int64_t kTablesEveryMs = 100;            // a write for each line would cost as much as a small file
constexpr int64_t kOverdraft = int64_t{32} << 20;  // of statistics and text, where data are dropped

using Clock = std::chrono::steady_clock;
int64_t now_ms() {
  return std::chrono::duration_cast<std::chrono::milliseconds>(Clock::now().time_since_epoch()).count();
}

int thread_count(int wanted) {
  if (wanted > 0) return wanted;
  cpu_set_t cores;
  const int count = ::sched_getaffinity(0, sizeof cores, &cores) == 0 ? CPU_COUNT(&cores) : 2;
  return std::clamp(count, 2, 4);
}

}  // namespace

Writer::Writer(WriterConfig config)
    : config_(std::move(config)),
      slabs_(config_.budget),
      tally_file_(config_.root.empty() ? "" : config_.root + "/capture.json", config_.run) {
  ForkGuard::add(*this);
}

Writer::~Writer() {
  close();
  for (const pthread_t thread : threads_) ::pthread_join(thread, nullptr);  // those that hung
  ForkGuard::remove(*this);
}

// False: nothing got done for as long as a caller has patience. One caller is enough to find that out: until
// something gets done again, nobody waits any more.
template <class HasCome>
bool Writer::wait_for(std::unique_lock<std::mutex>& lock, HasCome has_come) {
  const auto patience = std::chrono::milliseconds(config_.patience_ms);
  int64_t seen = progress();
  auto deadline = Clock::now() + patience;
  while (!has_come()) {
    if (is_given_up()) return false;
    ++admitting_;
    const bool is_late = done_.wait_until(lock, deadline) == std::cv_status::timeout;
    --admitting_;
    const int64_t now = progress();
    if (is_late && seen == now && measuring_ == 0) {
      given_up_at_ = seen;
      return false;
    }
    if (is_late || seen != now) deadline = Clock::now() + patience;
    seen = now;
  }
  return true;
}

// Takes room, or waits for it. False: there is none.
bool Writer::admit(std::unique_lock<std::mutex>& lock, int64_t cost, int64_t most, bool waits) {
  const auto fits = [&] { return waiting_ <= 0 || waiting_ + cost <= most; };
  if (waits ? !wait_for(lock, fits) : !fits()) return false;
  waiting_ += cost;
  return true;
}

// Lines of a table come in the order of the calls, whenever what they tell is known.
void Writer::reserve_line(Job& job) {
  if (job.task.table.empty()) return;
  job.slot = tables_.reserve(job.task.table, job.task.header);
}

void Writer::run_now(std::unique_lock<std::mutex>& lock, Job& job) {
  if (!wait_for(lock, [&] { return turns_.is_free(job.name); })) job.name = 0;  // out of turn, or never
  turns_.begin(job.name);
  take_in_hand(job);
  lock.unlock();
  const WithoutFileSignals quiet;
  run(job);
}

void Writer::enqueue(std::unique_lock<std::mutex>& lock, Job job) {
  reserve_line(job);
  start_threads();
  if (is_closing_ || threads_.empty()) return run_now(lock, job);
  if (!turns_.begin(job.name)) return turns_.wait(job.name, std::move(job));
  jobs_.push_back(std::move(job));
  lock.unlock();
  work_.notify_one();
}

void Writer::start_threads() {
  if (!threads_.empty() || is_closing_) return;
  // None of the host's signals is ever handled on a thread of ours.
  sigset_t all, before;
  ::sigfillset(&all);
  ::pthread_sigmask(SIG_SETMASK, &all, &before);
  for (int i = 0; i < thread_count(config_.threads); ++i) {
    pthread_t thread{};
    if (::pthread_create(&thread, nullptr, work, this) != 0) break;
    ::pthread_setname_np(thread, "assay-writer");
    threads_.push_back(thread);
  }
  ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

void* Writer::work(void* self) {
  Writer& writer = *static_cast<Writer*>(self);
  std::unique_lock lock(writer.guard_);
  while (true) {
    const auto has_work = [&] { return !writer.jobs_.empty() || writer.is_closing_; };
    if (!writer.work_.wait_for(lock, std::chrono::milliseconds(kIdleMs), has_work)) {
      lock.unlock();
      writer.slabs_.trim();
      lock.lock();
      writer.work_.wait(lock, has_work);
    }
    if (writer.jobs_.empty()) return nullptr;
    Job job = std::move(writer.jobs_.front());
    writer.jobs_.pop_front();
    writer.take_in_hand(job);
    lock.unlock();
    writer.run(job);
    job = {};
    lock.lock();
  }
}

void Writer::save(Task task, const Source& source) {
  Job job{.task = std::move(task),
          .data = source.bytes,
          .release = source.release,
          .release_argument = source.release_argument};
  job.name = Turns<Job>::hash(job.task.path);
  const bool is_kept = job.task.has_data && !job.task.path.empty();
  const auto size = static_cast<int64_t>(source.bytes.size());
  const auto measure_now = [&] {
    const Wanted& wanted = job.task.wanted;
    if (wanted.values || wanted.crc32 || wanted.xor64)
      job.statistics = measure(job.task.dtype, job.data, job.task.count, wanted);
  };
  if (!is_kept) measure_now();  // at the rate of reading; a copy would cost more
  job.cost = kJobOverhead + static_cast<int64_t>(job.task.path.size()) + (is_kept ? Slabs::rounded(size) : 0);
  std::unique_lock lock(guard_);
  if (is_kept && source.release == nullptr && job.cost > config_.budget / 2) {
    // Larger than what may wait: it goes to the disk from where it lies, while its owner waits.
    if (is_given_up()) return lose_unadmitted(lock, job);
    job.cost = 0;
    reserve_line(job);
    run_now(lock, job);
    return;
  }
  if (!admit(lock, job.cost, config_.budget, !config_.drops_data)) {
    if (!config_.drops_data) return lose_unadmitted(lock, job);
    lock.unlock();
    if (is_kept) measure_now();
    give_back(job);
    job.data = {};
    job.task.has_data = false;
    job.cost = kJobOverhead + static_cast<int64_t>(job.task.path.size());
    lock.lock();
    if (!admit(lock, job.cost, config_.budget + kOverdraft, true)) return lose_unadmitted(lock, job);
    ++tally_.dropped;
    enqueue(lock, std::move(job));
    return;
  }
  lock.unlock();
  if (is_kept && source.release == nullptr) {
    job.slab = slabs_.take(size);
    if (job.slab.data == nullptr) {  // no memory to copy it to: it goes the way of the large ones
      lock.lock();
      reserve_line(job);
      return run_now(lock, job);
    }
    std::memcpy(job.slab.data, source.bytes.data(), source.bytes.size());
    job.data = Bytes(job.slab.data, source.bytes.size());
  } else if (!is_kept) {
    give_back(job);
    job.data = {};
  }
  lock.lock();
  enqueue(lock, std::move(job));
}

void Writer::append(const std::string& path, const std::string& header, std::string line) {
  const auto cost = static_cast<int64_t>(line.size()) + kJobOverhead;
  std::unique_lock lock(guard_);
  if (!admit(lock, cost, config_.budget + (config_.drops_data ? kOverdraft : 0), true)) {
    lock.unlock();
    return lose(static_cast<int64_t>(line.size()), path + ": the disk is too slow for a line of text", 1);
  }
  Job job;
  job.task.is_tensor = false;
  job.task.table = path;
  job.task.header = header;
  job.task.row = [text = std::move(line)](const Statistics&, const std::string&) { return text; };
  job.cost = cost;
  enqueue(lock, std::move(job));
}

void Writer::replace(std::string path, std::string text) {
  Task task{.path = std::move(path), .has_data = false, .is_tensor = false, .existing = Existing::replace};
  task.around = [text = std::move(text)](const Statistics&, bool) { return Parts{text, {}}; };
  save(std::move(task), {});
}

void Writer::count_filtered() {
  const std::lock_guard lock(guard_);
  ++tally_.filtered;
}

void Writer::count_statistics() {
  const std::lock_guard lock(guard_);
  ++tally_.statistics;
}

void Writer::give_back(Job& job) {
  if (job.release != nullptr) job.release(job.release_argument);
  job.release = nullptr;
  slabs_.give(job.slab);
  job.slab = {};
}

void Writer::take_in_hand(Job& job) {
  job.next_in_hand = in_hand_;
  in_hand_ = &job;
}

void Writer::put_away(const Job& job) {
  Job** at = &in_hand_;
  while (*at != nullptr && *at != &job) at = &(*at)->next_in_hand;
  if (*at != nullptr) *at = job.next_in_hand;
}

Statistics Writer::measured(const Job& job) {
  ++measuring_;
  const Statistics out = measure(job.task.dtype, job.data, job.task.count, job.task.wanted);
  --measuring_;
  return out;
}

// What a job is about; the name that its file got, and its line.
Writer::Outcome Writer::carry_out(Job& job) {
  const Wanted& wanted = job.task.wanted;
  if (!job.statistics && (wanted.values || wanted.crc32 || wanted.xor64) && !job.data.empty())
    job.statistics = measured(job);
  const Statistics statistics = job.statistics.value_or(Statistics{});
  Outcome out;
  if (!job.task.path.empty()) out.path = write_file(job.task, job.data, statistics, job.task.has_data);
  if (job.task.measured && job.statistics) job.task.measured(statistics);
  if (job.task.row) out.row = job.task.row(statistics, out.path);
  return out;
}

// On a thread of ours, or of a caller that waits for it; without the signals of files.
void Writer::run(Job& job) {
  Outcome outcome;
  try {
    outcome = carry_out(job);
  } catch (...) {  // no memory: the host must not die of it
    lose(static_cast<int64_t>(job.data.size()), "there is no memory left to write with");
  }
  give_back(job);
  std::unique_lock lock(guard_);
  put_away(job);
  ++active_;
  // Kept in a line, or in a file that has no data: as what was chosen, or what the budget left.
  const bool has_place = job.task.path.empty() || job.task.row || job.task.measured;
  tally_.statistics +=
      job.statistics && (outcome.path.empty() ? has_place : job.task.keeps_statistics_alone()) ? 1 : 0;
  if (job.slot) {
    *job.slot = {true, std::move(outcome.row)};
    waiting_ += static_cast<int64_t>(job.slot->text.size());
  }
  waiting_ -= job.cost;
  ++finished_;
  if (auto next = turns_.end(job.name)) {
    jobs_.push_front(*std::move(next));
    work_.notify_one();
  }
  const int64_t now = now_ms();
  if (jobs_.empty() || now - tables_written_at_ >= kTablesEveryMs) {
    tables_written_at_ = now;
    write_tables(lock);
  }
  --active_;
  if (is_time_for_tally(now)) {
    tally_written_at_ = now;
    const Tally tally = tally_now();
    const bool has_ended = is_closing_;
    ++active_;
    lock.unlock();
    // It takes its place while there is room, and is not much older than the end if that comes suddenly.
    static_cast<void>(tally_file_.write(tally, has_ended, config_.rights));  // the end says what goes wrong
    lock.lock();
    --active_;
  }
  const bool is_waited_for = admitting_ > 0 || is_idle();
  lock.unlock();
  if (is_waited_for) done_.notify_all();
}

// The name that it got; empty: there is no file.
std::string Writer::write_file(const Task& task, Bytes data, const Statistics& statistics, bool has_data) {
  const std::optional<Parts> around = task.around ? task.around(statistics, has_data) : Parts{};
  if (!around) return {};
  const Bytes parts[] = {as_bytes(around->before), has_data ? data : Bytes{}, as_bytes(around->behind)};
  int64_t size = 0;
  for (const Bytes part : parts) size += static_cast<int64_t>(part.size());
  if (!has_room(task.path, size)) {
    lose(size, task.path + ": less than " + std::to_string(config_.reserve >> 20) +
                   " MiB would stay free on the disk");
    return {};
  }
  const Result<std::string> name = write_or_link(task, parts, data, statistics);
  if (!name) {
    lose(size, name.error().message);
    return {};
  }
  const std::lock_guard lock(guard_);
  tally_.tensors += task.is_tensor && !task.keeps_statistics_alone() ? 1 : 0;
  tally_.bytes += task.is_tensor && has_data ? static_cast<int64_t>(data.size()) : 0;
  return *name;
}

Result<std::string> Writer::write_or_link(const Task& task, std::span<const Bytes> parts, Bytes data,
                                          const Statistics& statistics) {
  const auto write = [&] { return write_whole(task.path, parts, task.existing, config_.rights, &pieces_); };
  if (config_.links == LinkKind::none || data.empty() || !task.has_data) return write();
  Statistics sums = statistics;
  if (!task.wanted.crc32 || !task.wanted.xor64)
    sums = measure(DType::u8, data, static_cast<int64_t>(data.size()), {false, true, true});
  const uint64_t key = (sums.xor64 * 0x9E3779B97F4A7C15u) ^ (uint64_t{sums.crc32} << 32) ^ data.size() ^
                       (uint64_t{std::hash<std::string_view>{}(as_text(parts[0]))} << 16);
  std::unique_lock lock(guard_);
  const auto [entry, is_new] = known_.try_emplace(key);
  if (is_new) {
    known_order_.push_back(key);
    lock.unlock();
    Result<std::string> name = write();
    lock.lock();
    known_[key] = {true, name.value_or("")};
    while (known_order_.size() > kMostKnown && known_[known_order_.front()].is_written) {
      known_.erase(known_order_.front());
      known_order_.pop_front();
    }
    lock.unlock();
    done_.notify_all();
    return name;
  }
  done_.wait(lock, [&] {
    return !known_.contains(key) || known_[key].is_written;
  });  // its first one is being written
  const std::string first = known_.contains(key) ? known_[key].path : "";
  lock.unlock();
  // Equal sums are a hint and no proof.
  if (first.empty() || !holds(first, parts)) return write();
  Result<std::string> link = link_to(task.path, first, config_.links, task.existing, config_.rights);
  if (!link) return write();
  lock.lock();
  ++tally_.linked;
  return link;
}

bool Writer::has_room(const std::string& path, int64_t bytes) {
  if (config_.reserve <= 0) return true;
  std::unique_lock lock(guard_);
  if (const int64_t now = now_ms();
      room_seen_at_ == 0 || now - room_seen_at_ > kRoomEveryMs || room_ < config_.reserve + bytes) {
    room_seen_at_ = now;
    lock.unlock();
    const auto room = room_on_disk(config_.root.empty() ? path : config_.root);
    if (!room) return true;
    lock.lock();
    room_ = *room;
  }
  if (room_ < config_.reserve + bytes) return false;
  room_ -= bytes;
  return true;
}

// A file, or so many lines of a table.
void Writer::lose(int64_t bytes, const std::string& reason, int64_t lines) {
  bool tells = false;
  {
    const std::lock_guard lock(guard_);
    tally_.add_loss(bytes, reason, lines);
    tells = !has_told_;
    has_told_ = true;
  }
  if (tells) say(reason + "; the program goes on, and what is lost is counted in capture.json");
}

// What found no room in time, and the line that it would have had.
void Writer::lose_unadmitted(std::unique_lock<std::mutex>& lock, Job& job) {
  lock.unlock();
  const std::string why =
      ": the disk is too slow: nothing was written for " + std::to_string(config_.patience_ms / 1000) + " s";
  if (brings_file(job)) lose(static_cast<int64_t>(job.data.size()), job.task.path + why);
  if (!job.task.table.empty()) lose(0, job.task.table + why, 1);
  give_back(job);
}

bool Writer::is_time_for_tally(int64_t now) const {
  return is_closing_ || tally_written_at_ == 0 || now - tally_written_at_ > kTallyEveryMs;
}

Tally Writer::tally_now() const {
  Tally out = tally_;
  out.waiting = std::count_if(jobs_.begin(), jobs_.end(), [](const Job& job) { return job.task.is_tensor; });
  turns_.for_each_waiting([&](const Job& job) { out.waiting += job.task.is_tensor ? 1 : 0; });
  if (is_closing_) add_unwritten(out);
  return out;
}

// All lines that are ready, but those of tables that another thread has in hand: it looks again itself.
void Writer::write_tables(std::unique_lock<std::mutex>& lock) {
  while (const auto batch = tables_.take()) {
    lock.unlock();
    Result<void> done;
    if (!batch->lines.empty()) done = append_whole(batch->path, batch->header, batch->lines, config_.rights);
    if (!done) lose(static_cast<int64_t>(batch->lines.size()), done.error().message, batch->count);
    lock.lock();
    waiting_ -= static_cast<int64_t>(batch->lines.size());
    if (done) tally_.lines += batch->count;
    tables_.end(*batch);
  }
}

bool Writer::flush(int64_t timeout_ms) {
  std::unique_lock lock(guard_);
  const auto is_done = [&] { return is_idle(); };
  return done_.wait_for(lock, std::chrono::milliseconds(timeout_ms), is_done);
}

Tally Writer::tally() {
  const std::lock_guard lock(guard_);
  return tally_;
}

// In a child of fork(): what waits is the parent's business, and so are its threads.
void Writer::forget_parent() {
  jobs_.clear();
  turns_.clear();
  tables_.clear();
  known_.clear();
  known_order_.clear();
  threads_.clear();
  waiting_ = finished_ = 0;
  active_ = admitting_ = 0;
  in_hand_ = nullptr;
  given_up_at_ = -1;
  has_told_ = false;
  tally_ = {};
  tally_written_at_ = 0;
  tally_file_.forget();
}

}  // namespace assay::capture

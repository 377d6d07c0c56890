// How a writer ends: when all is written, or when a disk that answers nobody has been waited for.
#include "capture/say.h"
#include "capture/writer.h"

#include <algorithm>
#include <chrono>

namespace assay::capture {
namespace {

constexpr int64_t kLastTallyMs = 2000;  // how long the end waits for a disk that answers nobody

}  // namespace

bool Writer::brings_file(const Job& job) {
  const Task& task = job.task;
  return !task.path.empty() && (!task.around || task.around({}, task.has_data).has_value());
}

// What a disk that answers nobody has cost so far.
void Writer::add_unwritten(Tally& tally) const {
  constexpr std::string_view kWhy = ": the disk is too slow";
  for (const Job* job = in_hand_; job != nullptr; job = job->next_in_hand)
    if (brings_file(*job))
      tally.add_loss(static_cast<int64_t>(job->data.size()), job->task.path + std::string(kWhy));
  if (const Tables::Waiting lines = tables_.waiting(); lines.count > 0)
    tally.add_loss(lines.bytes, lines.path + std::string(kWhy), lines.count);
}

bool Writer::close() {
  std::vector<pthread_t> threads;
  std::deque<Job> left;
  {
    std::unique_lock lock(guard_);
    if (is_closing_) return !is_stuck_;
    // As long as something gets done it is waited for; a dead disk must not keep the program from ending.
    int64_t seen = -1;
    while (!is_idle() && (seen != progress() || measuring_ > 0)) {
      seen = progress();
      done_.wait_for(lock, std::chrono::milliseconds(config_.patience_ms), [&] { return is_idle(); });
    }
    is_stuck_ = !is_idle();
    left.swap(jobs_);
    turns_.for_each_waiting([&](const Job& job) { left.push_back(job); });
    turns_.clear();
    for (const Job& job : left)
      if (brings_file(job))
        tally_.add_loss(static_cast<int64_t>(job.data.size()), job.task.path + ": the disk is too slow");
    is_closing_ = true;
    if (!is_stuck_) threads.swap(threads_);
  }
  for (Job& job : left) give_back(job);
  work_.notify_all();
  for (const pthread_t thread : threads) ::pthread_join(thread, nullptr);
  Tally tally;
  bool is_unused = false;
  {
    const std::lock_guard lock(guard_);
    tally = tally_now();
    is_unused = finished_ == 0 && tally.is_empty();
  }
  Result<void> counted;
  if (!is_unused) counted = write_last_tally(tally);
  if (!counted) say(counted.error().message + "; what was recorded is counted nowhere");
  if (tally.lost > 0)
    say(loss_sentence(tally) + (counted ? "; counted in " + config_.root + "/capture.json" : ""));
  return !is_stuck_;
}

// Where the disk answers nobody, on a thread that may hang as the others do.
Result<void> Writer::write_last_tally(const Tally& tally) {
  if (!is_stuck_) return tally_file_.write(tally, true, config_.rights);
  struct Last {
    Writer& writer;
    Tally tally;
    std::optional<Result<void>> done = {};
  };
  const auto last = std::make_shared<Last>(Last{*this, tally});
  const auto write = [](void* argument) -> void* {
    const std::unique_ptr<std::shared_ptr<Last>> own(static_cast<std::shared_ptr<Last>*>(argument));
    Writer& writer = (*own)->writer;
    const Result<void> done = writer.tally_file_.write((*own)->tally, true, writer.config_.rights);
    const std::lock_guard lock(writer.guard_);
    (*own)->done = done;
    writer.done_.notify_all();
    return nullptr;
  };
  auto argument = std::make_unique<std::shared_ptr<Last>>(last);
  std::unique_lock lock(guard_);
  pthread_t thread{};
  if (::pthread_create(&thread, nullptr, write, argument.get()) == 0) {
    static_cast<void>(argument.release());
    threads_.push_back(thread);
    done_.wait_for(lock, std::chrono::milliseconds(kLastTallyMs), [&] { return last->done.has_value(); });
  }
  if (last->done) return *last->done;
  return fail(ErrorKind::io, "{}/capture.json: the disk does not answer", config_.root);
}

}  // namespace assay::capture

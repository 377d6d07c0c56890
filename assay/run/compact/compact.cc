#include "assay/run/compact/compact.h"

#include "assay/base/cancel.h"
#include "assay/base/sync.h"
#include "assay/base/temporary_name.h"
#include "assay/base/text.h"
#include "assay/run/compact/removal.h"
#include "assay/run/compact/watch.h"
#include "assay/run/resources.h"
#include "assay/support/log.h"
#include "assay/support/parallel.h"

#include <fcntl.h>
#include <sys/file.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <map>
#include <set>
#include <span>

namespace assay {
namespace {

// Their folders are synced together, which costs as much as for one file; their sources are removed behind
// it.
constexpr size_t kBatchFiles = 64;
constexpr int64_t kSliceNs = 50'000'000;

int64_t clock_ns(clockid_t clock) {
  timespec now{};
  ::clock_gettime(clock, &now);
  return now.tv_sec * 1'000'000'000 + now.tv_nsec;
}

// Two of them would remove each other's files under construction, and the statistics that the other one
// relies on. A run holds its root throughout, and every folder below it while files there are replaced, so
// that runs on a folder and on one below it keep out of each other's way too.
class FolderLock {
 public:
  static Result<FolderLock> take(const fs::path& root) {
    const int descriptor = ::open(root.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    const bool is_held = descriptor >= 0 && ::flock(descriptor, LOCK_EX | LOCK_NB) == 0;
    if (descriptor >= 0 && !is_held && errno == EWOULDBLOCK) {
      ::close(descriptor);
      return fail(ErrorKind::io, "{}: another 'assay compact' is at work on it; wait for it, or end it first",
                  display(root));
    }
    return FolderLock(descriptor,
                      is_held);  // a file system without locks: the scan will say what else is wrong
  }
  FolderLock(FolderLock&& other) noexcept
      : descriptor_(std::exchange(other.descriptor_, -1)), is_held_(other.is_held_) {}
  FolderLock& operator=(FolderLock&&) = delete;
  ~FolderLock() {
    if (descriptor_ >= 0) ::close(descriptor_);
  }
  bool is_held() const { return is_held_; }  // not on a file system without locks

 private:
  FolderLock(int descriptor, bool is_held) : descriptor_(descriptor), is_held_(is_held) {}
  int descriptor_;
  bool is_held_;
};

// The root is locked already. A folder that is gone or cannot be locked is no hindrance: its files say what
// is wrong.
std::map<fs::path, Result<FolderLock>> lock_folders(const CompactRequest& request,
                                                    std::span<const CompactJob> jobs) {
  std::map<fs::path, Result<FolderLock>> locks;
  if (request.options.dry_run) return locks;
  for (const CompactJob& job : jobs) {
    const fs::path folder = job.path.parent_path();
    std::error_code ignored;
    if (locks.contains(folder) || fs::equivalent(folder, request.root, ignored)) continue;
    locks.emplace(folder, FolderLock::take(folder));
  }
  return locks;
}

// Renamed, it may be, or its folder was: whatever went wrong with it is no trouble of this run. What lies
// aside is there.
bool is_gone(const fs::path& path) { return !read_state(path) && !read_state(aside_name(path)); }

// A time of change in the future is no age: such a file is watched for a while.
bool is_at_rest(const FileState& state, int64_t now_ns) { return state.modified_ns <= now_ns - kSettleNs; }

Result<CompactOutcome> compact_once(const CompactRequest& request) {
  const int64_t begun = monotonic_ns();
  const int64_t now = clock_ns(CLOCK_REALTIME);
  CompactChoice choice = request.choice;
  ASSAY_TRY(CompactScan scan, scan_for_compaction(request.root, request.root, choice, {}));
  // What it was to keep would be replaced.
  for (const std::string& pattern : choice.skip.in_vain())
    return fail(ErrorKind::bad_argument,
                "--skip: '{}' fits no file and no folder in {}; nothing was replaced", printable(pattern),
                display(request.root));
  warn_of_only(request.root, choice);
  // What a killed run was about to remove has its name again, and is looked at like all others.
  if (!request.options.dry_run && !scan.set_aside.empty()) {
    for (const fs::path& aside : scan.set_aside) put_back_from_aside(aside);
    ASSAY_TRY(scan, scan_for_compaction(request.root, request.root, choice, {}));
  }
  Compactor compactor(request);
  for (std::string& trouble : scan.troubles) compactor.note_trouble(std::move(trouble));
  if (!request.options.dry_run)
    for (const fs::path& leftover : scan.leftovers) remove_leftover(leftover);
  int64_t bytes = 0;
  for (const CompactJob& job : scan.files) bytes += job.state.size;
  Progress progress("compacting", bytes, request.progress);
  const auto young = std::stable_partition(scan.files.begin(), scan.files.end(),
                                           [&](const CompactJob& job) { return is_at_rest(job.state, now); });
  const std::vector<CompactJob> restless(young, scan.files.end());
  scan.files.erase(young, scan.files.end());
  ASSAY_TRY_DO(compactor.replace(scan.files, progress));
  if (!restless.empty() && !compactor.is_stopped()) {
    ASSAY_TRY_DO(wait_until(begun + kSettleNs));
    ASSAY_TRY_DO(compactor.replace(restless, progress));
  }
  return compactor.outcome();
}

}  // namespace

int64_t monotonic_ns() { return clock_ns(CLOCK_MONOTONIC); }

Result<void> wait_until(int64_t until_ns) {
  for (;;) {
    ASSAY_TRY_DO(check_cancelled());
    const int64_t left = until_ns - monotonic_ns();
    if (left <= 0) return {};
    const timespec slice{0, static_cast<long>(std::min(left, kSliceNs))};
    ::nanosleep(&slice, nullptr);
  }
}

void warn_of_only(const fs::path& root, const CompactChoice& choice) {
  for (const std::string& pattern : choice.only.in_vain())
    log::warn("--only: '{}' fits no file in {} (those of a folder are 'FOLDER/*')", printable(pattern),
              display(root));
}

Result<void> Compactor::replace(const std::vector<CompactJob>& jobs, Progress& progress) {
  for (size_t first = 0; first < jobs.size() && !stopped_; first += kBatchFiles) {
    const size_t count = std::min(kBatchFiles, jobs.size() - first);
    std::vector<Result<FileFate>> fates(count, FileFate{});
    const std::map<fs::path, Result<FolderLock>> locks = lock_folders(request_, {&jobs[first], count});
    parallel_for(count, [&](size_t i) {
      const CompactJob& job = jobs[first + i];
      const auto lock = locks.find(job.path.parent_path());
      if (lock != locks.end() && !lock->second)
        fates[i] = FileFate{
            Fate::kept,
            fmt::format(
                "{}: another 'assay compact' is at work in its folder; run this again when it is done",
                display(job.path)),
            true};
      else
        fates[i] = check_cancelled().and_then([&] { return publish_replacement(job, request_.options); });
      progress.done(job.state.size);
    });
    std::set<fs::path> folders;
    for (size_t i = 0; i < count; ++i)
      if (fates[i] && fates[i]->fate == Fate::replaced) folders.insert(jobs[first + i].path.parent_path());
    std::set<fs::path> unsynced;
    if (!request_.options.dry_run)
      for (const fs::path& folder : folders)
        if (const auto synced = sync_folder(folder); !synced) {
          if (read_state(folder)) note_trouble(synced.error().message);
          unsynced.insert(folder);
        }
    std::optional<Error> cancelled_by;
    for (size_t i = 0; i < count; ++i) {
      const CompactJob& job = jobs[first + i];
      if (!fates[i]) {
        cancelled_by = fates[i].error();
        continue;
      }
      const bool is_published = fates[i]->fate == Fate::replaced && !request_.options.dry_run;
      if (is_published && unsynced.contains(job.path.parent_path())) {
        if (is_gone(job.path)) settle(job, {Fate::gone});
        continue;
      }
      CompactOptions options = request_.options;
      if (const auto lock = locks.find(job.path.parent_path()); lock != locks.end())
        options.alone = options.alone && lock->second && lock->second->is_held();
      settle(job, is_published ? remove_source(job, *fates[i], options) : *fates[i]);
    }
    if (cancelled_by) return tl::unexpected<Error>(*cancelled_by);
  }
  return {};
}

void Compactor::settle(const CompactJob& job, const FileFate& fate) {
  if (fate.fate == Fate::replaced) {
    ++totals_.replaced;
    totals_.bytes_before += job.state.size;
    totals_.bytes_after += fate.published.size;
    seen_.erase(job.path.native());
    gone_.erase(job.path.native());
    log::debug("{}: replaced by {}", display(job.path), display(fate.replacement.filename()));
    if (request_.on_replaced) request_.on_replaced(job, fate);
    return;
  }
  if (fate.fate == Fate::gone || is_gone(job.path)) {
    seen_.erase(job.path.native());
    gone_.insert(job.path.native());
    return;
  }
  seen_[job.path.native()] = {job.state, fate};
  if (fate.fate == Fate::trouble && !request_.keep_going && !request_.watch) stopped_ = true;
}

void Compactor::note_trouble(std::string why) {
  other_troubles_.push_back(std::move(why));
  if (!request_.keep_going && !request_.watch) stopped_ = true;
}

bool Compactor::has_tried(const CompactJob& job) const {
  const auto found = seen_.find(job.path.native());
  return found != seen_.end() && found->second.state == job.state;
}

bool Compactor::is_done_with(const CompactJob& job) const {
  return has_tried(job) && !seen_.at(job.path.native()).fate.may_pass;
}

CompactOutcome Compactor::outcome() const {
  CompactOutcome out = totals_;
  out.troubles = other_troubles_;
  out.stopped = stopped_;
  out.gone = std::ssize(gone_);
  for (const auto& [path, seen] : seen_) {
    if (seen.fate.fate != Fate::left_out && is_gone(path)) {
      ++out.gone;
      continue;
    }
    if (seen.fate.fate == Fate::kept) out.kept.push_back(seen.fate.why);
    if (seen.fate.fate == Fate::trouble) out.troubles.push_back(seen.fate.why);
  }
  std::sort(out.kept.begin(), out.kept.end(), natural_less);
  std::sort(out.troubles.begin(), out.troubles.end(), natural_less);
  out.troubles.erase(std::unique(out.troubles.begin(), out.troubles.end()), out.troubles.end());
  return out;
}

Result<CompactOutcome> compact(const CompactRequest& request) {
  const ThreadLimit threads(thread_count(request.threads));
  if (request.options.dry_run) return compact_once(request);
  if (request.watch) {
    ASSAY_TRY_DO(wait_for_root(request));
  }
  ASSAY_TRY(const FolderLock lock, FolderLock::take(request.root));
  CompactRequest locked = request;
  locked.options.alone = lock.is_held();
  return request.watch ? compact_watching(locked) : compact_once(locked);
}

}  // namespace assay

#include "assay/run/compact/watch.h"

#include "assay/base/cancel.h"
#include "assay/base/folder_watch.h"
#include "assay/base/temporary_name.h"
#include "assay/base/text.h"
#include "assay/run/compact/removal.h"
#include "assay/support/log.h"

#include <unistd.h>

#include <algorithm>
#include <unordered_map>

namespace assay {
namespace {

constexpr int64_t kSecond = 1'000'000'000;
// A signal that reaches another thread does not end the wait of this one.
constexpr int64_t kLongestWait = kSecond;
// How often all is looked through for what the kernel did not tell: rarely enough to cost little of a core.
constexpr int64_t kRescanNs = 5 * kSecond;
constexpr int64_t kRescanWithoutEventsNs = kSecond;
constexpr int64_t kScanShare = 20;

class Watcher {
 public:
  Watcher(const CompactRequest& request, FolderWatch watch)
      : request_(request),
        choice_(request.choice),
        watch_(std::move(watch)),
        compactor_(request),
        progress_("compacted", 0, request.progress) {}

  Result<CompactOutcome> run() {
    ASSAY_TRY_DO(rescan());
    last_activity_ = monotonic_ns();
    while (!cancelled()) {
      const FolderWatch::Events events = watch_.wait(time_to_wait());
      if (auto done = take(events); !done) return finish(done.error());
      if (auto done = replace_settled(); !done) return finish(done.error());
      if (monotonic_ns() >= next_scan_ || events.lost)
        if (auto done = rescan(); !done) return finish(done.error());
      const auto over = is_over();
      if (!over) return finish(over.error());
      if (*over) break;
    }
    return compactor_.outcome();
  }

 private:
  struct Pending {
    FileState state;
    int64_t since = 0;  // when it was first seen like this
  };

  // A signal is how a watch without --idle ends, and a dump that was moved away has ended too.
  Result<CompactOutcome> finish(const Error& error) const {
    if (error.kind == ErrorKind::cancelled || error.kind == ErrorKind::not_found) return compactor_.outcome();
    return tl::unexpected<Error>(error);
  }

  int64_t time_to_wait() const {
    const int64_t now = monotonic_ns();
    int64_t wait = std::min(kLongestWait, next_scan_ - now);
    for (const auto& [path, pending] : pending_) wait = std::min(wait, pending.since + kSettleNs - now);
    if (request_.idle_s) wait = std::min(wait, idle_deadline() - now);
    return std::max<int64_t>(wait, 1'000'000);
  }

  int64_t idle_deadline() const {
    return last_activity_ + static_cast<int64_t>(*request_.idle_s * static_cast<double>(kSecond));
  }

  void note_activity() { last_activity_ = monotonic_ns(); }

  Result<void> take(const FolderWatch::Events& events) {
    if (!events.finished.empty() || !events.folders.empty() || events.other) note_activity();
    for (const fs::path& folder : events.folders)
      if (folder.filename().native()[0] != '.') {
        ASSAY_TRY_DO(scan(folder));
      }
    std::vector<CompactJob> finished;
    for (const fs::path& path : events.finished) {
      if (!is_wanted(request_.root, path, request_.choice)) continue;
      const auto state = read_state(path);
      if (!state || std::any_of(finished.begin(), finished.end(),
                                [&](const CompactJob& job) { return job.path == path; }))
        continue;
      pending_.erase(path.native());
      finished.push_back({path, *state});
    }
    return replace(finished);
  }

  Result<void> replace(const std::vector<CompactJob>& jobs) {
    if (jobs.empty()) return {};
    const int64_t before = compactor_.replaced();
    ASSAY_TRY_DO(compactor_.replace(jobs, progress_));
    if (compactor_.replaced() > before) note_activity();
    return {};
  }

  Result<void> replace_settled() {
    const int64_t now = monotonic_ns();
    std::vector<CompactJob> settled;
    for (auto it = pending_.begin(); it != pending_.end();) {
      if (now < it->second.since + kSettleNs) {
        ++it;
        continue;
      }
      const auto state = read_state(it->first);
      if (state && *state != it->second.state) {
        it->second = {*state, now};
        note_activity();
        ++it;
        continue;
      }
      if (state) settled.push_back({it->first, *state});
      it = pending_.erase(it);
    }
    return replace(settled);
  }

  // Watches the folder and those below it, and notes files that were not seen like this before.
  Result<void> scan(const fs::path& folder) {
    ASSAY_TRY(const CompactScan found,
              scan_for_compaction(request_.root, folder, choice_, [this](const fs::path& entered) {
                if (!watch_.add(entered)) all_watched_ = false;
              }));
    if (is_first_) {
      for (const fs::path& leftover : found.leftovers) remove_leftover(leftover);
      for (const fs::path& aside : found.set_aside) put_back_from_aside(aside);
    }
    const int64_t now = monotonic_ns();
    for (const CompactJob& job : found.files) {
      if (compactor_.is_done_with(job)) continue;
      const auto [known, is_new] = pending_.try_emplace(job.path.native(), Pending{job.state, now});
      if (is_new ? !compactor_.has_tried(job) : known->second.state != job.state) note_activity();
      if (!is_new && known->second.state != job.state) known->second = {job.state, now};
    }
    for (const std::string& trouble : found.troubles)
      if (is_first_) compactor_.note_trouble(trouble);
    return {};
  }

  Result<void> rescan() {
    const int64_t begun = monotonic_ns();
    const bool was_complete = all_watched_;
    all_watched_ = true;
    ASSAY_TRY_DO(scan(request_.root));
    if (is_first_) warn_of_patterns();
    is_first_ = false;
    if (!all_watched_ && was_complete)
      log::warn(
          "{}: not all of its folders can be watched (fs.inotify.max_user_watches?); they are looked "
          "through every second",
          display(request_.root));
    const int64_t took = monotonic_ns() - begun;
    const int64_t pause = all_watched_ ? kRescanNs : kRescanWithoutEventsNs;
    next_scan_ = monotonic_ns() + std::max(pause, kScanShare * took);
    return {};
  }

  // What they mean may not be written yet; but a typing error is best said at the start.
  void warn_of_patterns() const {
    for (const std::string& pattern : choice_.skip.in_vain())
      log::warn("--skip: '{}' fits no file and no folder in {} so far", printable(pattern),
                display(request_.root));
    warn_of_only(request_.root, choice_);
  }

  // Before it ends, one more look: a single large file makes no event while it grows.
  Result<bool> is_over() {
    if (!request_.idle_s || monotonic_ns() < idle_deadline()) return false;
    ASSAY_TRY_DO(rescan());
    return monotonic_ns() >= idle_deadline();
  }

  const CompactRequest& request_;
  CompactChoice choice_;  // notes which of its patterns fit something
  FolderWatch watch_;
  Compactor compactor_;
  Progress progress_;
  std::unordered_map<std::string, Pending> pending_;
  int64_t last_activity_ = 0, next_scan_ = 0;
  bool all_watched_ = true, is_first_ = true;
};

}  // namespace

Result<void> wait_for_root(const CompactRequest& request) {
  const fs::path root = fs::absolute(request.root).lexically_normal();
  std::error_code ignored;
  const auto is_there = [&] { return fs::exists(fs::symlink_status(root, ignored)); };
  if (is_there()) return {};
  log::warn("{}: is not there yet; waiting for it", display(request.root));
  const int64_t begun = monotonic_ns();
  while (!is_there()) {
    ASSAY_TRY_DO(check_cancelled());
    int64_t left = kLongestWait;
    if (request.idle_s)
      left = begun + static_cast<int64_t>(*request.idle_s * static_cast<double>(kSecond)) - monotonic_ns();
    if (left <= 0)
      return fail(ErrorKind::not_found, "{}: did not appear within {} s", display(request.root),
                  *request.idle_s);
    fs::path above = root.parent_path();
    while (above.has_relative_path() && !fs::is_directory(above, ignored)) above = above.parent_path();
    ASSAY_TRY(FolderWatch watch, FolderWatch::open());
    watch.add(above);
    if (!is_there()) watch.wait(std::min(left, kLongestWait));
  }
  return {};
}

Result<CompactOutcome> compact_watching(const CompactRequest& request) {
  ASSAY_TRY(FolderWatch watch, FolderWatch::open());
  return Watcher(request, std::move(watch)).run();
}

}  // namespace assay

// assay compact: full dumps become statistics, to save disk. docs/compact.md
#pragma once

#include "assay/run/compact/scan.h"
#include "assay/support/progress.h"

#include <functional>
#include <optional>
#include <unordered_map>
#include <unordered_set>

namespace assay {

struct CompactRequest {
  fs::path root;
  CompactChoice choice;
  CompactOptions options;
  bool keep_going = false;  // after trouble such as a full disk
  int threads = 0;          // 0: all cores
  bool progress = false;
  bool watch = false;            // follow a dump that is being written
  std::optional<double> idle_s;  // watching ends when nothing has happened for so long; else at a signal
  std::function<void(const CompactJob&, const FileFate&)> on_replaced = {};  // in order; may be empty
};

struct CompactOutcome {
  int64_t replaced = 0;
  int64_t bytes_before = 0, bytes_after = 0;  // of what was replaced
  std::vector<std::string> kept;              // why, each names its file
  std::vector<std::string> troubles;
  int64_t gone = 0;      // files that somebody renamed or removed before they could be replaced
  bool stopped = false;  // by the first trouble: there may be more to do
};

// A file counts as at rest when nothing has changed for so long.
inline constexpr int64_t kSettleNs = 500'000'000;

// Replaces files, many at a time, and remembers what became of the others.
class Compactor {
 public:
  explicit Compactor(const CompactRequest& request) : request_(request) {}

  // An error is only ErrorKind::cancelled. Files of the batch under way are then whole, one way or the other.
  Result<void> replace(const std::vector<CompactJob>& jobs, Progress& progress);
  void note_trouble(std::string why);
  bool has_tried(const CompactJob& job) const;     // it was looked at, and did not change since
  bool is_done_with(const CompactJob& job) const;  // and to look again would give the same
  bool is_stopped() const { return stopped_; }
  int64_t replaced() const { return totals_.replaced; }
  CompactOutcome outcome() const;

 private:
  struct Seen {
    FileState state;
    FileFate fate;
  };
  void settle(const CompactJob& job, const FileFate& fate);

  const CompactRequest& request_;
  CompactOutcome totals_;  // kept and troubles are filled in at the end
  std::unordered_map<std::string, Seen> seen_;
  std::unordered_set<std::string> gone_;
  std::vector<std::string> other_troubles_;
  bool stopped_ = false;
};

void warn_of_only(const fs::path& root, const CompactChoice& choice);  // of patterns that fit nothing

// Waits until now is at least `until` (CLOCK_MONOTONIC nanoseconds), or for Ctrl-C.
Result<void> wait_until(int64_t until_ns);
int64_t monotonic_ns();

// A pattern of --skip that fits nothing is an error before anything is replaced; while watching, what it
// means may still come.
Result<CompactOutcome> compact(const CompactRequest& request);

}  // namespace assay

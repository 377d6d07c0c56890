// A progress line on stderr for anything longer than a second; nothing at all unless stderr is a terminal. A
// caller (base/caller.h) is told the numbers.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <mutex>
#include <string>

namespace assay {

class Caller;

// done() may be called from any thread; the line is redrawn at most ten times a second and erased at the end.
class Progress {
 public:
  // wanted: false keeps it silent (--quiet). total: in units of the caller's (bytes, rows); 0 if unknown.
  Progress(std::string what, int64_t total, bool wanted);
  ~Progress();
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;
  void done(int64_t units);

 private:
  using Clock = std::chrono::steady_clock;
  void draw(int64_t units);
  const std::string what_;
  const int64_t total_;
  Caller* const caller_;  // null: the program
  const bool shown_;
  const Clock::time_point start_;
  std::atomic<int64_t> units_{0};
  std::atomic<int64_t> next_draw_;  // nanoseconds after start_
  std::mutex drawing_;
  bool drawn_ = false;
};

}  // namespace assay

// On whose behalf a thread works. The program has no caller: its words go to a terminal, and Ctrl-C ends it.
// Behind the C interface there are many at the same time, and each hears its own run alone.
// support/parallel.cc takes the caller along to the threads that work for it.
#pragma once

#include "assay/base/file_signals.h"

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string_view>
#include <unordered_map>

namespace assay {

class Caller {
 public:
  Caller() = default;
  virtual ~Caller() = default;
  Caller(const Caller&) = delete;
  Caller& operator=(const Caller&) = delete;

  // What would go to standard output and to standard error. Any thread.
  virtual void write_output(std::string_view text) = 0;
  virtual void write_message(std::string_view text) = 0;
  // total: 0 if unknown. Any thread, ten times a second at most.
  virtual void note_progress(std::string_view what, int64_t done, int64_t total) = 0;
  virtual bool takes_rows() const = 0;
  virtual void write_rows(std::string_view lines) = 0;    // whole lines of JSON
  virtual void write_summary(std::string_view json) = 0;  // at the end of the rows

  void cancel() { is_cancelled_.store(true, std::memory_order_relaxed); }
  bool is_cancelled() const { return is_cancelled_.load(std::memory_order_relaxed); }

 private:
  template <class T>
  friend T& of_caller();
  std::shared_ptr<void>& kept(const void* kind);

  std::atomic<bool> is_cancelled_{false};
  std::mutex guard_;
  std::unordered_map<const void*, std::shared_ptr<void>> kept_;  // by what of_caller() is asked for
};

Caller* current_caller();  // null: the program

// While it lives, this thread works for that caller.
class CallerScope {
 public:
  explicit CallerScope(Caller* caller);
  ~CallerScope();
  CallerScope(const CallerScope&) = delete;
  CallerScope& operator=(const CallerScope&) = delete;

 private:
  Caller* const before_;
  std::optional<WithoutFileSignals> quiet_;
};

// What some part keeps from call to call and would keep in a global variable otherwise: one T for each
// caller, and one for the program.
template <class T>
T& of_caller() {
  static T of_program;
  static constexpr char kKind = 0;
  Caller* const caller = current_caller();
  if (caller == nullptr) return of_program;
  const std::lock_guard lock(caller->guard_);
  std::shared_ptr<void>& own = caller->kept(&kKind);
  if (own == nullptr) own = std::make_shared<T>();
  return *static_cast<T*>(own.get());
}

}  // namespace assay

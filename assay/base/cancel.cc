#include "assay/base/cancel.h"

#include "assay/base/caller.h"

#include <atomic>
#include <csignal>

namespace assay {
namespace {

std::atomic<bool> cancel_flag{false};
static_assert(std::atomic<bool>::is_always_lock_free);  // safe inside a signal handler

extern "C" void on_interrupt(int signal) {
  if (cancel_flag.exchange(true)) {
    std::signal(signal, SIG_DFL);
    std::raise(signal);
  }
}

}  // namespace

void catch_interrupts() {
  struct sigaction action {};
  action.sa_handler = on_interrupt;
  ::sigaction(SIGINT, &action, nullptr);
  ::sigaction(SIGTERM, &action, nullptr);
}

bool cancelled() {
  // Set in the program alone: a library catches no signals.
  if (cancel_flag.load(std::memory_order_relaxed)) return true;
  const Caller* const caller = current_caller();
  return caller != nullptr && caller->is_cancelled();
}

Result<void> check_cancelled() {
  if (cancelled()) return fail(ErrorKind::cancelled, "interrupted; nothing half-written is left behind");
  return {};
}

}  // namespace assay

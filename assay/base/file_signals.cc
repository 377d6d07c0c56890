#include "assay/base/file_signals.h"

#include <signal.h>

#include <ctime>

namespace assay {

WithoutFileSignals::WithoutFileSignals() {
  sigset_t wanted, before;
  ::sigemptyset(&wanted);
  ::sigaddset(&wanted, SIGXFSZ);
  if (::pthread_sigmask(SIG_BLOCK, &wanted, &before) == 0)
    was_blocked_ = ::sigismember(&before, SIGXFSZ) == 1;
}

WithoutFileSignals::~WithoutFileSignals() {
  if (was_blocked_) return;
  sigset_t wanted;
  ::sigemptyset(&wanted);
  ::sigaddset(&wanted, SIGXFSZ);
  const timespec now{};
  while (::sigtimedwait(&wanted, nullptr, &now) == SIGXFSZ) {
  }
  ::pthread_sigmask(SIG_UNBLOCK, &wanted, nullptr);
}

}  // namespace assay

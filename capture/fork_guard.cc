#include "capture/fork_guard.h"

#include "capture/writer.h"

#include <algorithm>
#include <new>

namespace assay::capture {
namespace {

struct Writers {
  std::mutex guard;
  std::vector<Writer*> all;
  std::vector<std::mutex*> outer;
};
// Never destroyed: the program may fork while it ends.
Writers& writers() {
  static auto* const kept = new Writers;
  return *kept;
}

}  // namespace

void ForkGuard::before() {
  for (std::mutex* const each : writers().outer) each->lock();
  writers().guard.lock();
  for (Writer* writer : writers().all) {
    writer->guard_.lock();
    writer->slabs_.lock();
  }
}

void ForkGuard::in_parent() {
  for (Writer* writer : writers().all) {
    writer->slabs_.unlock();
    writer->guard_.unlock();
  }
  writers().guard.unlock();
  for (std::mutex* const each : writers().outer) each->unlock();
}

void ForkGuard::in_child() {
  for (Writer* writer : writers().all) {
    writer->slabs_.unlock();
    writer->guard_.unlock();
    // Threads that do not exist here seem to wait for them.
    new (&writer->work_) std::condition_variable;
    new (&writer->done_) std::condition_variable;
    writer->forget_parent();
  }
  writers().guard.unlock();
  for (std::mutex* const each : writers().outer) each->unlock();
}

void ForkGuard::be_called() {
  static const int registered = ::pthread_atfork(before, in_parent, in_child);
  static_cast<void>(registered);
}

void ForkGuard::covers(std::mutex& outer) {
  be_called();
  writers().outer.push_back(&outer);
}

void ForkGuard::add(Writer& writer) {
  be_called();
  const std::lock_guard lock(writers().guard);
  writers().all.push_back(&writer);
}

void ForkGuard::remove(Writer& writer) {
  const std::lock_guard lock(writers().guard);
  std::erase(writers().all, &writer);
}

}  // namespace assay::capture

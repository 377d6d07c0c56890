#include "assay/base/caller.h"

#include <utility>

namespace assay {
namespace {

thread_local Caller* caller_of_thread = nullptr;

}  // namespace

std::shared_ptr<void>& Caller::kept(const void* kind) { return kept_[kind]; }

Caller* current_caller() { return caller_of_thread; }

CallerScope::CallerScope(Caller* caller) : before_(std::exchange(caller_of_thread, caller)) {
  if (caller != nullptr && caller != before_) quiet_.emplace();
}
CallerScope::~CallerScope() { caller_of_thread = before_; }

}  // namespace assay

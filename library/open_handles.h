// The handles that callers hold. One that was closed is refused, not followed; one that is closed while
// another thread uses it lives until that is done.
#pragma once

#include "library/guarded.h"

#include <memory>
#include <mutex>
#include <unordered_map>
#include <vector>

namespace assay::library {

template <class T>
class OpenHandles {
 public:
  T* add(std::shared_ptr<T> opened) {
    T* const handle = opened.get();
    const std::lock_guard lock(guard_);
    all_.emplace(handle, std::move(opened));
    return handle;
  }

  std::shared_ptr<T> find(const T* handle) const {
    const std::lock_guard lock(guard_);
    const auto found = all_.find(handle);
    return found == all_.end() ? nullptr : found->second;
  }

  std::shared_ptr<T> remove(const T* handle) {
    const std::lock_guard lock(guard_);
    const auto found = all_.extract(handle);
    return found.empty() ? nullptr : std::move(found.mapped());
  }

  std::vector<std::shared_ptr<T>> all() const {
    const std::lock_guard lock(guard_);
    std::vector<std::shared_ptr<T>> out;
    for (const auto& [handle, kept] : all_) out.push_back(kept);
    return out;
  }

  std::mutex& guard() { return guard_; }

 private:
  mutable std::mutex guard_;
  std::unordered_map<const T*, std::shared_ptr<T>> all_;
};

inline assay_status refuse_handle(const void* handle) {
  return refuse(ASSAY_BAD_ARGUMENT,
                handle == nullptr ? "a null pointer" : "what was given is not open: was it closed?");
}

}  // namespace assay::library

#include "assay/format/open_files.h"

#include "assay/base/caller.h"

#include <sys/resource.h>

#include <algorithm>

namespace assay {

namespace {

rlim_t allowed_files() {
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) return 0;
  const rlim_t allowed = limit.rlim_cur;  // no limit is the largest number
  constexpr rlim_t kShareOfCaller = 8;  // the rest is for the program that calls us, and for its other calls
  return current_caller() == nullptr ? allowed : allowed / kShareOfCaller;
}

}  // namespace

size_t most_open_files() {
  constexpr rlim_t kForOthers = 512;  // what measuring opens itself, reports, the libraries
  constexpr rlim_t kMost =
      rlim_t{1} << 16;  // a header is a few hundred bytes: 64 Ki of them are a few dozen MB
  const rlim_t allowed = std::min(allowed_files(), kMost);
  return allowed > kForOthers ? static_cast<size_t>(allowed - kForOthers) : 0;
}

size_t most_shared_files() {
  constexpr rlim_t kForOthers = 32, kMost = 256;
  const rlim_t allowed = allowed_files();
  return static_cast<size_t>(
      std::clamp<rlim_t>(allowed > kForOthers ? (allowed - kForOthers) / 4 : 0, 1, kMost));
}

void raise_limit_of_open_files() {
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) return;
  limit.rlim_cur = limit.rlim_max;
  ::setrlimit(RLIMIT_NOFILE, &limit);  // where that is refused, fewer files are kept open
}

void OpenFiles::keep(const fs::path& path, TensorSet set) {
  const bool has_data = std::any_of(set.tensors.begin(), set.tensors.end(),
                                    [](const StoredTensor& tensor) { return tensor.data && *tensor.data; });
  if (!has_data) return;
  auto kept = std::make_shared<const TensorSet>(std::move(set));
  const std::lock_guard lock(guard_);
  if (files_.size() < most_) files_.emplace(path.native(), std::move(kept));
}

std::shared_ptr<const TensorSet> OpenFiles::find(const fs::path& path) {
  const std::lock_guard lock(guard_);
  const auto kept = files_.find(path.native());
  return kept == files_.end() ? nullptr : kept->second;
}

std::shared_ptr<const TensorSet> OpenFiles::take(const fs::path& path) {
  if (stays_open_) return find(path);
  const std::lock_guard lock(guard_);
  auto kept = files_.extract(path.native());
  return kept.empty() ? nullptr : std::move(kept.mapped());
}

void OpenFiles::close() {
  const std::lock_guard lock(guard_);
  files_.clear();
}

}  // namespace assay

// Jobs of one name in the order in which they came, those of different names in any: so the second x.npy is
// x.2.npy, and of two texts of one file the last one stays.
//
//   if (!turns.begin(job.name)) turns.wait(job.name, std::move(job));  // else it is to be done now
//   if (auto next = turns.end(job.name)) ...                           // it was done: now this one is
//
// Names are known by their hashes: two that share one wait for each other, and that is all.
#pragma once

#include <algorithm>
#include <cstddef>
#include <functional>
#include <list>
#include <optional>
#include <string_view>
#include <unordered_map>
#include <utility>

namespace assay::capture {

template <class Job>
class Turns {
 public:
  // 0 is no name: whoever has none waits for nobody.
  static size_t hash(std::string_view name) {
    return name.empty() ? 0 : std::max(std::hash<std::string_view>{}(name), size_t{1});
  }

  bool is_free(size_t name) const { return name == 0 || !waiting_.contains(name); }
  bool begin(size_t name) { return name == 0 || waiting_.try_emplace(name).second; }
  void wait(size_t name, Job job) { waiting_[name].push_back(std::move(job)); }

  std::optional<Job> end(size_t name) {
    const auto found = waiting_.find(name);
    if (found == waiting_.end()) return std::nullopt;
    if (found->second.empty()) {
      waiting_.erase(found);
      return std::nullopt;
    }
    std::optional<Job> next = std::move(found->second.front());
    found->second.pop_front();
    return next;
  }

  template <class Visit>
  void for_each_waiting(Visit visit) const {
    for (const auto& [name, jobs] : waiting_)
      for (const Job& job : jobs) visit(job);
  }
  void clear() { waiting_.clear(); }

 private:
  // A list, which takes no memory while it is empty, as it mostly is.
  std::unordered_map<size_t, std::list<Job>> waiting_;
};

}  // namespace assay::capture

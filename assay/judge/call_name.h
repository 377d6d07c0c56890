// The name of a call in a dump of msprobe: "Functional.linear.3.backward" runs "Functional.linear.3.forward"
// backwards.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

namespace assay {

class CallName {
 public:
  explicit CallName(std::string_view name) : forward_(name), backward_at_(name.find(kBackward)) {
    if (is_backward()) forward_.replace(backward_at_, kBackward.size(), ".forward");
  }
  bool is_backward() const { return backward_at_ != std::string_view::npos; }
  const std::string& forward() const { return forward_; }
  // By which a call and the one that runs it backwards are found again; of millions of them, 64 bits each are
  // enough.
  uint64_t key() const { return std::hash<std::string>()(forward_); }

 private:
  static constexpr std::string_view kBackward = ".backward";
  std::string forward_;
  size_t backward_at_;
};

}  // namespace assay

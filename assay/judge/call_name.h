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

// "Module.fc.Linear.forward.0" of "Module.fc.Linear.parameters_grad.0", which older dumps do not number;
// empty of other names.
inline std::string forward_call_of_gradients(std::string_view name) {
  constexpr std::string_view kGradients = ".parameters_grad";
  const size_t at = name.rfind(kGradients);
  if (at == std::string_view::npos) return {};
  const std::string_view number = name.substr(at + kGradients.size());
  std::string forward(name.substr(0, at));
  forward += ".forward";
  return forward += number.empty() ? ".0" : number;
}

}  // namespace assay

// In programs that are not ours, a file that grows beyond `ulimit -f` must not end the program: on this
// thread, as long as it lives, no signal says so but the call in hand.
#pragma once

namespace assay {

class WithoutFileSignals {
 public:
  WithoutFileSignals();
  ~WithoutFileSignals();
  WithoutFileSignals(const WithoutFileSignals&) = delete;
  WithoutFileSignals& operator=(const WithoutFileSignals&) = delete;

 private:
  bool was_blocked_ = true;
};

}  // namespace assay

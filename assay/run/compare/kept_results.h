// Results of operators that come to the same on every rank, computed once.
#pragma once

#include "assay/tensor/expected.h"

#include <functional>
#include <map>
#include <mutex>
#include <string>

namespace assay {

// Of a dump of many ranks: each would else read the tensors of all others again. Any thread.
class KeptResults {
 public:
  // What was kept under `key`, else what `make` gives, kept in memory until `askers` have asked for it,
  // unless all that is kept would take more than `most_bytes`. Errors are kept as well, but for that of a run
  // that is cancelled.
  Result<Expected> find_or_make(const std::string& key, int askers, int64_t most_bytes,
                                const std::function<Result<Expected>()>& make);

 private:
  struct Kept {
    Result<Expected> result;
    int64_t bytes = 0;
    int askers = 0;  // still to come
  };
  std::mutex guard_;
  std::map<std::string, Kept> kept_;
  int64_t bytes_ = 0;  // of all
};

}  // namespace assay

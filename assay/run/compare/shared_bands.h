// One tensor so large that several processes measure it together: each of them takes some of its bands, and
// all get what the bands come to, merged in their order.
#pragma once

#include "assay/metric/gathered.h"

#include <functional>

namespace assay {

class SharedBands {
 public:
  using GatherOne = std::function<Result<Gathered>(int64_t band)>;  // any thread
  virtual ~SharedBands() = default;

  virtual bool takes(const GatherPlan& plan) const = 0;  // or each process has to read all of it
  // Every process calls it at the same point of its work, and gets the same. one: of a band.
  virtual Result<Gathered> gather(int64_t bands, const GatherOne& one) = 0;
  // Whether it is so on any process.
  virtual bool is_any(bool own) = 0;
};

// Who reads what this thread measures together with others; null: nobody does.
SharedBands* current_shared_bands();

class SharedBandsScope {
 public:
  explicit SharedBandsScope(SharedBands* shared);
  ~SharedBandsScope();
  SharedBandsScope(const SharedBandsScope&) = delete;
  SharedBandsScope& operator=(const SharedBandsScope&) = delete;
};

}  // namespace assay

// The rows of a comparison that still runs, for a page that grows with it.
#pragma once

#include "assay/report/page/stored.h"
#include "assay/report/report.h"

#include <memory>

namespace assay {

// Any thread. Outlives its sink.
class LiveRows {
 public:
  LiveRows();
  ~LiveRows();
  LiveRows(const LiveRows&) = delete;
  LiveRows& operator=(const LiveRows&) = delete;

  std::unique_ptr<Sink> sink();
  int64_t count() const;         // of all rows so far
  std::string run_json() const;  // empty: nothing has begun
  StoredRows chosen() const;     // as many as a page holds
  Result<StoredPair> pair(int64_t id) const;

 private:
  struct State;
  class LiveSink;
  std::unique_ptr<State> state_;
};

}  // namespace assay

// The models of a rank as one graph of operators.
#pragma once

#include "assay/dump/atb_place.h"
#include "assay/model/graph.h"

#include <map>
#include <mutex>

namespace assay {

// Frames that ran the same models have one graph between them. Frames may be indexed at the same time.
class AtbGraphs {
 public:
  // In the order in which they run; they outlive this. Null where there are none.
  std::shared_ptr<const Graph> of(const std::vector<const AtbModel*>& models);

 private:
  std::mutex mutex_;
  std::map<std::vector<const AtbModel*>, std::shared_ptr<const Graph>> made_;
};

}  // namespace assay

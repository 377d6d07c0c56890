// Which values of a .pt pickle a walk through its objects has accounted for.
#pragma once

#include "assay/format/pickle.h"
#include "assay/format/pt_names.h"

namespace assay {

bool makes_tensor(PtMeaning meaning);

class PtReached {
 public:
  explicit PtReached(const PickleGraph& graph) : graph_(graph), is_reached_(graph.values.size()) {}

  bool operator[](PickleRef ref) const { return is_reached_[ref]; }
  void mark(PickleRef ref) { is_reached_[ref] = true; }
  // Everything that this value is made of is accounted for.
  void mark_below(PickleRef ref);

  // What is in the file and no way through its containers leads to.
  struct Unreached {
    int64_t tensors = 0;
    int64_t others = 0;  // that may hold some
  };
  Unreached mark_rest();

 private:
  const PickleGraph& graph_;
  std::vector<bool> is_reached_;
};

}  // namespace assay

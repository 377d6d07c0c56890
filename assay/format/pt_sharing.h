// Which tensors of a .pt file lie in one storage, and how.
#pragma once

#include "assay/format/pt_tensor.h"

#include <map>

namespace assay {

class PtSharing {
 public:
  // The tensor `slot` of the set lies there. `placement` shows the graph that it was read from.
  void add(size_t slot, PtPlacement placement);

  // Tells the tensors that share a storage. How many storages are shared by tensors of several types, which
  // is not told.
  int64_t tell(const PtStorages& storages, TensorSet& set) const;

 private:
  struct Member {
    size_t slot;
    PtPlacement placement;
  };
  std::map<std::string_view, std::vector<Member>> members_;  // by the key of the storage
};

}  // namespace assay

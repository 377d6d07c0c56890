// A section cut into pieces of about equal size. How, only the section decides, so that a journal fits
// whatever number of processes goes on with it.
#pragma once

#include "assay/model/pairing.h"

#include <functional>

namespace assay {

struct WorkPiece {
  size_t first = 0, last = 0;  // of Pairing::nodes
  int64_t bytes = 0;
  bool is_large = false;  // one node, worth the work of all processes at once
};

// may_be_large: the passes over a tensor can be shared out.
std::vector<WorkPiece> cut_in_pieces(const Pairing& pairing, bool may_be_large,
                                     const std::function<int64_t(const PairedNode&)>& bytes_of);

}  // namespace assay

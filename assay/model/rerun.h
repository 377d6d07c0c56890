// What came of running the operator that made a tensor once more, on what mine had given it.
#pragma once

#include "assay/model/bounded.h"

#include <string>

namespace assay {

struct Rerun {
  Bounded found = {};  // the tensor against what its operator makes of its inputs
  double introduced =
      0;                // how far the two are apart, relative like rel_l2: what the operator added by itself
  double measured = 0;  // … how far the tensor is from golden: all that is wrong with it
  std::string computed = {};  // the operator and what it was told, in short
  std::string rank = {};      // whose tensor this is, where several ranks ran it: that of the worst
  std::string why_not = {};   // it was not run; empty: it was

  bool was_run() const { return why_not.empty(); }
  // No rounding of this operator explains what it gave, whatever its inputs were.
  bool is_introduced() const { return was_run() && found.beyond > 0; }
};

// Where the first origin comes from.
enum class OriginBy : uint8_t {
  nothing,   // nobody asks for it
  estimate,  // from what was compared before and behind an operator
  run,  // … or, where mine holds what an operator needs, from running it again; what fails or nearly does
  run_all,  // … whatever the verdict and the cost
};

}  // namespace assay

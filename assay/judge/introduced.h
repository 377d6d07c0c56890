// What running an operator again says of its results: whether it made their errors, or was given them.
#pragma once

#include "assay/model/outcome.h"

namespace assay {

// Adds to the reason, or the note, of a row what came of it.
void tell_rerun(Comparison& row);

enum class Introduced : uint8_t {
  unknown,  // it was not run again, or not all of its results can be known
  no,       // what it gave is what it makes of what it was given
  in_part,  // it added an error that no rounding explains; most of what is wrong came in
  in_main,  // … and that is most of what is wrong
};
Introduced introduced_in(const Comparison& row);

}  // namespace assay

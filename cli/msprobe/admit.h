// What the msprobe command asks of a section that is matched, before it is measured.
#pragma once

#include "assay/base/result.h"
#include "assay/compat/msprobe/profile.h"
#include "assay/model/pairing.h"

namespace assay::cli {

// An error in the words of the original.
inline tl::unexpected<Error> refuse(std::string text) {
  return tl::unexpected(Error{ErrorKind::bad_argument, std::move(text)});
}

// False: the section is left out, and a warning says why. Logs what its table has no rows for.
Result<bool> admit(const Matched& matched);
// Only what both sides have, and have in the same way, is compared.
Result<bool> admit_kernels(const Matched& matched);

// Python's table library widens a column of numbers to reals as soon as one of them is real, and all four
// columns of a side where they hold nothing else.
RealColumns find_real_columns(const Matched& matched);

}  // namespace assay::cli

// Numbers as msprobe reads them before it takes a difference: it makes texts of them, and gives these to a
// routine of pandas that is not exact.
#pragma once

#include "assay/model/value.h"

namespace assay {

// What pandas makes of the text that Python prints for this number: digits behind the 17th are dropped, zeros
// in front counted, and the others put together in double precision.
double read_by_pandas(double number);

// The number of a statistic, if it is one.
std::optional<double> pandas_number(const Scalar& scalar);

}  // namespace assay

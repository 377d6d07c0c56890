// A round of an ATB dump as msprobe's probe describes it: statistic.csv, one line per tensor, in the order in
// which they were dumped. docs/formats/atb_bin.md, "statistic.csv".
#pragma once

#include "assay/dump/layout.h"

namespace assay {

extern const Layout atb_statistic_layout;

}  // namespace assay

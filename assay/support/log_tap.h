// Messages of a process that another one speaks for.
#pragma once

#include "assay/support/log.h"

namespace assay::log {

// Lines go there, and nowhere else; empty: as usual.
void set_tap(Writer tap);

}  // namespace assay::log

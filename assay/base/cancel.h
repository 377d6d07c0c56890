// Ctrl-C. A handler sets one flag; everything that loops over blocks, files or rows asks for it and ends with
// an error, so that destructors remove what was half written. A caller (base/caller.h) has a flag of its own.
#pragma once

#include "assay/base/result.h"

namespace assay {

void catch_interrupts();  // SIGINT and SIGTERM; called once by main. A second signal ends the program at
                          // once.
bool cancelled();
Result<void> check_cancelled();  // an error of kind `cancelled`, or nothing

}  // namespace assay

// ATB files that hold no data but the name of the file that does.
#pragma once

#include "assay/base/file.h"

namespace assay {

// The file that `alias` ("1_0_outtensor0.bin", or the plain name of the file itself) of `file` means.
// Only ids and plain file names are followed; nothing outside the round folder of the dump is looked at.
Result<fs::path> find_alias_target(const File& file, std::string_view alias);

}  // namespace assay

// Making names last, for whoever removes one file because another one has taken its place.
#pragma once

#include "assay/base/file.h"

namespace assay {

// Names that files got or lost in the folder so far survive a crash of the machine.
Result<void> sync_folder(const fs::path& folder);

// So does what was written to the file.
Result<void> sync_file(const fs::path& path);

}  // namespace assay

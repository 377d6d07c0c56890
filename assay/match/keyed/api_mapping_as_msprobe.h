// API mapping files as msprobe takes them: an API whose lists do not go together is passed over with a
// warning, and the others count.
#pragma once

#include "assay/match/keyed/mappings.h"

namespace assay {

Result<std::vector<ApiMapping>> read_api_mapping_as_msprobe(const fs::path& path);

}  // namespace assay

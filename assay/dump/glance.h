// A quick look below a folder, to tell what kind of dump it is.
#pragma once

#include "assay/base/file.h"

#include <functional>
#include <string_view>

namespace assay {

// Asks about the files below a folder, each folder entered once, until one is enough. It must not take long
// in a folder that is no dump: after 100,000 entries it ends.
void glance_below(const fs::path& root,
                  const std::function<bool(const fs::path& folder, std::string_view file)>& is_enough);

}  // namespace assay

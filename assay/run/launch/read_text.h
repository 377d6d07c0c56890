// Small texts that a program and its probe left behind.
#pragma once

#include "assay/base/file.h"

namespace assay {

Result<std::string> read_text(const fs::path& path);

}  // namespace assay

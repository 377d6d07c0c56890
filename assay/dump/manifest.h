// The execution order of a folder, where it states one: manifest.txt (a path per line) or manifest.json (an
// array of paths) in its root. docs/formats/folder.md
#pragma once

#include "assay/base/file.h"

#include <optional>
#include <string>
#include <vector>

namespace assay {

struct Manifest {
  fs::path file;
  std::vector<std::string> paths;  // normalised, below the root
};

bool is_manifest(std::string_view relative);

// Nothing where the folder has none. At most `memory` bytes of text are read.
Result<std::optional<Manifest>> read_manifest(const fs::path& root, int64_t memory);

}  // namespace assay

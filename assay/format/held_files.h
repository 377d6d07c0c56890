// Files that memory alone holds: a caller who has tensors hands them over under the names of files.
#pragma once

#include "assay/format/format.h"

#include <map>
#include <memory>
#include <string>

namespace assay {

struct HeldFiles {
  std::map<std::string, TensorSet, std::less<>> by_path;

  const TensorSet* find(const fs::path& path) const {
    const auto found = by_path.find(path.native());
    return found == by_path.end() ? nullptr : &found->second;
  }
};

// What a caller handed over: of_caller<HandedOver>().
struct HandedOver {
  std::shared_ptr<const HeldFiles> files;
};

}  // namespace assay

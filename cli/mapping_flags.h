// Mapping flags, of `assay compare` and of msprobe.
#pragma once

#include "assay/match/mappings.h"

#include <optional>
#include <string>

namespace assay::cli {

// Off, on, or on with a file.
struct MappingFlag {
  bool on = false;
  std::optional<std::string> file = {};
};

struct MappingFlags {
  MappingFlag api, cell, layer;
  std::optional<std::string> data;
};
Result<Mappings> read_mappings(const MappingFlags& flags);

}  // namespace assay::cli

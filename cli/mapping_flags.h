// Mapping flags, of `assay compare` and of msprobe.
#pragma once

#include "assay/match/matcher.h"

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
  UnevenLists uneven = UnevenLists::refuse;  // what msprobe forgives, its command does
};
Result<Mappings> read_mappings(const MappingFlags& flags);

// Types of ATB operators and of torch modules: {"SelfAttentionOperation": ["CoreAttention"], …}. `given` is
// the file, or the folder it lies in as op_mapping_file.json.
fs::path op_mapping_file(const fs::path& given);
Result<std::shared_ptr<const OpMapping>> read_op_mapping(const fs::path& given, int64_t memory);

}  // namespace assay::cli

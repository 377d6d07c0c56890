// The JSON texts of safetensors: the header of a file, and the index of a checkpoint in several files.
#pragma once

#include "assay/base/result.h"
#include "assay/format/safetensors_write.h"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace assay {

// One entry of the header as it stands there; nothing is checked but the JSON.
struct SafetensorsEntry {
  std::string name;
  std::optional<std::string> dtype;
  std::optional<std::vector<int64_t>> shape;
  std::optional<std::vector<int64_t>> offsets;
  std::string trouble;  // a value of the wrong kind
};

struct SafetensorsHeader {
  std::vector<SafetensorsEntry> entries;
  int64_t metadata = 0;        // members of "__metadata__"
  int64_t unknown_fields = 0;  // of entries, other than dtype, shape and data_offsets
};

// `file` is for messages, `memory` limits the number of entries. Nesting costs no stack.
Result<SafetensorsHeader> parse_safetensors_header(std::string_view json, std::string_view file,
                                                   int64_t memory);

struct ShardEntry {
  std::string name, shard;
};
Result<std::vector<ShardEntry>> parse_safetensors_index(std::string_view json, std::string_view file,
                                                        int64_t memory);

}  // namespace assay

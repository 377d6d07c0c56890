// Dumps of msprobe: dump.json (or debug.json) with stack.json, construct.json and dump_tensor_data/ beside
// it, in folders step{S}/rank{R}. docs/formats/msprobe.md
#pragma once

#include "assay/dump/layout.h"

namespace assay {

extern const Layout msprobe_layout;

// What stands in a dump.json before its entries.
struct MsprobeHead {
  std::string task, level, framework;  // empty: the key is missing
  bool has_data = false, data_is_object = false;
};
Result<MsprobeHead> read_msprobe_head(const fs::path& json);

}  // namespace assay

// Files of a dump that no row stands for: which of them may hold tensors all the same, so that a pass must
// speak of them.
#pragma once

#include "assay/base/file.h"

#include <string_view>

namespace assay {

enum class Unclaimed : uint8_t {
  other,    // text, graphs, tables of results: none is missed
  tensors,  // by its name or its content
  table,    // what a dump of some tool is described by
  unknown,  // no format that is known, and no text
};

// By name, and where that does not tell, by the first bytes. `path`: as the dump had it; where statistics
// stand in its place, by their name.
Unclaimed unclaimed_kind(const fs::path& path);

// A file whose name is no tensor's, by its content: no text, or with a name that text does not have. Of one
// that is named as text, bytes that no text has; tables and locks of other programs never do.
bool may_hold_tensors(const File& file);

// One of these that cannot be read is no loss; any other one may have been a tensor.
bool is_plainly_text(std::string_view name);

bool is_dump_table(std::string_view name);

}  // namespace assay

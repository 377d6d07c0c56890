// A Detail as lines of a terminal: the diagnosis, how values and differences spread, the block map in shades,
// profiles, the values around the worst element.
#pragma once

#include "assay/model/detail.h"

#include <string>

namespace assay {

enum class Shades : uint8_t { unicode, ascii };

// Lines of at most `width` columns, each with a line break, indented by two.
std::string detail_text(const Detail& detail, int width, Shades shades);

}  // namespace assay

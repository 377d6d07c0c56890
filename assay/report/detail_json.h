// The JSON form of a Detail: docs/page_data.md.
#pragma once

#include "assay/model/detail.h"

#include <string>

namespace assay {

void append_detail(std::string& out, const Detail& detail);  // one object, without a line break

}  // namespace assay

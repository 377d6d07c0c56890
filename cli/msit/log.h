// The log of `msit llm` and of its older name `ait llm`: one line each on stderr.
#pragma once

#include "assay/base/result.h"

#include <string_view>

namespace assay::cli {

enum class Tool : unsigned char { msit, ait };

std::string_view text(Tool tool);  // "msit", "ait"

// level: a word of -l; what is below it is not written.
void open_msit_log(Tool tool, std::string_view level);

// Why the command ends, whatever the level: the original prints the exception in any case. Returns its exit
// code, 1; 2 where nothing, or too little, was compared.
int end_msit(Tool tool, const Error& why);

}  // namespace assay::cli

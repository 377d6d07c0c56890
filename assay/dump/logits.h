// Logits that msit dumped: a folder of .pth files, one tensor each, whose names end in the key of a question
// and the number of a token: logits_boolq_12_0.pth, logits_humanevalx_cpp_7_3.pth.
#pragma once

#include "assay/dump/layout.h"

namespace assay {

extern const Layout logits_layout;  // recognised where all files of a folder are named so

struct LogitsName {
  std::string language;    // cpp, go, java, js, python; empty: a data set of one language
  std::string key, token;  // numbers in decimal, of any length
};
// Errors are those of the original: "invalid_format_a_b".
Result<LogitsName> parse_logits_name(std::string_view file_name);

}  // namespace assay

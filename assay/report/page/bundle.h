// The page itself: script and style of web/dist, as cmake/page.cmake has them built in.
#pragma once

#include <string_view>

namespace assay {

struct PageBundle {
  std::string_view script, style;
  std::string_view script_sha256, style_sha256;  // in hexadecimal digits
};
const PageBundle& page_bundle();

}  // namespace assay

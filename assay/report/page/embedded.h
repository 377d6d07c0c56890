// Data inside of a page.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace assay {

std::string base64(std::string_view bytes);
std::string base64_of_hex(std::string_view digits);  // as a Content-Security-Policy names a hash
std::string deflated(std::string_view text);         // with the header and the check of zlib
// What base64() and deflated() made; of anything else, whatever comes out, or nothing.
std::string unbase64(std::string_view text);
std::optional<std::string> inflated(std::string_view bytes, size_t most);
// JSON in the text of a script element, which ends at "</script" and changes its meaning behind "<!--".
std::string json_in_html(std::string_view json);

}  // namespace assay

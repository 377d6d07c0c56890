// The two ways in which old pickles write text on a line.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace assay {

// 'it\'s' with its quotes, as Python prints a str (opcode STRING); nothing if it is not quoted or an escape
// is broken.
std::optional<std::string> unquote_python(std::string_view literal);

// Latin-1 with \uXXXX and \UXXXXXXXX (opcode UNICODE), as UTF-8; nothing if an escape is broken.
std::optional<std::string> decode_raw_unicode(std::string_view line);

// UTF-8 text of characters up to U+00FF as one byte each: how bytes travel through protocol 2. Nothing if one
// is above.
std::optional<std::string> to_latin1(std::string_view utf8);

}  // namespace assay

// Integers beyond 64 bits, as pickles hold them: the bytes of their two's complement, little-endian.
#pragma once

#include <string>
#include <string_view>

namespace assay {

inline constexpr size_t kMostBigDigits = 4300;  // of an integer that Python itself reads as text

// Precondition: a text of big_integer_text, or a minus or not and then at least one and at most
// kMostBigDigits digits.
std::string big_integer_bytes(std::string_view text);

// Equal for equal integers only, however many bytes repeat the sign: decimal digits, or "0x…" of the bytes
// where there are more than 64, since digits take time that grows with the square.
std::string big_integer_text(std::string_view bytes);

}  // namespace assay

// How far two words are apart, for what may be a slip of the pen.
#pragma once

#include <cstddef>
#include <string_view>

namespace assay {

// Letters to change, add, leave out, or swap with their neighbour. The largest number for words that nobody
// mistypes, since they are longer than any.
size_t letters_apart(std::string_view a, std::string_view b);

}  // namespace assay

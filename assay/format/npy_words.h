// Arrays that hold no numbers: NumPy stores None, texts and lists of them as such, the former in a pickle.
#pragma once

#include "assay/format/format.h"

namespace assay {

enum class NpyWords : uint8_t {
  no,            // it holds something else, or cannot be read
  yes,           // texts, None, True, names of types and nothing more
  with_numbers,  // numbers too, as in [None, 3]
};

// Of a .npy file. Nothing in a pickle is executed; at most `memory` bytes of it are looked at.
NpyWords words_in_npy(const fs::path& path, int64_t memory);

}  // namespace assay

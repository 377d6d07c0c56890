// A word as a shell takes it: in quotes where it would not be one word, or not this one.
#pragma once

#include <string>

namespace assay {

std::string shell_word(const std::string& word);

}  // namespace assay

// The word that was meant, most likely.
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace assay::cli {

// "; did you mean 'cosine'?", or nothing where no word is near.
std::string did_you_mean(std::string_view word, std::span<const std::string> known);

}  // namespace assay::cli

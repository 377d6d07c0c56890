// Numbers that were printed with fewer digits than they have.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

namespace assay {

// Of numbers that stand beside each other: with how many decimals a program printed them that prints every
// real number so, as C does by %f; -1 where it did not. Those without a point are exact, or no numbers.
int8_t printed_decimals(std::span<const std::string_view> numbers);

}  // namespace assay

// The generations of msprobe that behave differently.
#pragma once

#include <cstdint>

namespace assay {

enum class Generation : uint8_t { g1, g2, g3 };  // msprobe 1.1, 8.3, 26.0

}  // namespace assay

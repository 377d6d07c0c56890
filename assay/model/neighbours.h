// The values around the worst element of a pair: what one looks at next.
#pragma once

#include <array>
#include <cstdint>

namespace assay {

struct Neighbours {
  static constexpr int kEachSide = 3;
  int64_t first = 0;  // index of the first component kept
  int32_t count = 0;  // how many; fewer than there is room for at an end
  std::array<double, 2 *kEachSide + 1> mine = {}, golden = {};
};

}  // namespace assay

#include "assay/golden/glibc_random.h"

namespace assay {

// x(n) = x(n-31) + x(n-3) mod 2^32, begun with a multiplicative generator modulo 2^31 - 1; the first 310 are
// thrown away, and of the rest the lowest bit.
GlibcRandom::GlibcRandom(uint32_t seed) {
  constexpr int64_t kModulus = 2147483647, kFactor = 16807;
  int64_t word = static_cast<int32_t>(seed == 0 ? 1 : seed);
  state_[0] = static_cast<uint32_t>(word);
  for (size_t i = 1; i < kDegree; ++i) {
    word = kFactor * word % kModulus;
    if (word < 0) word += kModulus;
    state_[i] = static_cast<uint32_t>(word);
  }
  for (int i = 0; i < 310; ++i) next();
}

uint32_t GlibcRandom::next() {
  state_[at_] += state_[(at_ + kDegree - kLag) % kDegree];
  const uint32_t drawn = state_[at_] >> 1;
  at_ = (at_ + 1) % kDegree;
  return drawn;
}

}  // namespace assay

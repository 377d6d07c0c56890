// The instruction sets that kernels are compiled for. Include before <hwy/foreach_target.h>.
#pragma once

// SSE has no fused multiply-add, so CPUs before 2013 take the portable code, whose std::fma gives the same
// bits, slowly. AVX3_DL adds nothing we use; scalable vectors (SVE) cannot be kept in arrays, and NEON serves
// those CPUs.
#define HWY_DISABLED_TARGETS \
  (HWY_SSSE3 | HWY_SSE4 | HWY_AVX3_DL | HWY_SVE | HWY_SVE2 | HWY_SVE_256 | HWY_SVE2_128)

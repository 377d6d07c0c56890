// For LD_PRELOAD: makes a program take the kernels for AVX2 on a CPU that has more.
#include <hwy/targets.h>

namespace {
[[maybe_unused]] const bool is_done = (hwy::DisableTargets(HWY_AVX3 | HWY_AVX3_DL), true);
}

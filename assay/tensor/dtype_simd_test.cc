#include "assay/tensor/dtype_simd.h"

#include "assay/tensor/dtype.h"

#include <gtest/gtest.h>
#include <hwy/targets.h>

#include <vector>

namespace assay {
namespace {

class EveryTarget : public ::testing::Test {
 protected:
  // Runs `check` once per kernel that this CPU can run.
  template <class Check>
  void for_each_target(Check check) {
    const int64_t all = hwy::SupportedTargets();
    for (int64_t left = all; left != 0; left &= left - 1) {
      const int64_t target = left & -left;
      hwy::SetSupportedTargetsForTest(target);
      hwy::GetChosenTarget().Update(target);
      check(hwy::TargetName(target));
    }
    hwy::SetSupportedTargetsForTest(0);
    hwy::GetChosenTarget().Update(hwy::SupportedTargets());
  }
};

std::vector<std::byte> all_patterns() {
  std::vector<std::byte> bytes(2 * 65536);
  for (unsigned i = 0; i < 65536; ++i) {
    const auto bits = static_cast<uint16_t>(i);
    std::memcpy(bytes.data() + 2 * i, &bits, 2);
  }
  return bytes;
}

TEST_F(EveryTarget, WidensEveryPatternLikeTheScalarFunction) {
  const auto bytes = all_patterns();
  for_each_target([&](const char* target) {
    std::vector<float> half(65536), brain(65536);
    widen_f16(bytes.data(), 65536, half.data());
    widen_bf16(bytes.data(), 65536, brain.data());
    for (unsigned i = 0; i < 65536; ++i) {
      const auto bits = static_cast<uint16_t>(i);
      ASSERT_EQ(std::bit_cast<uint32_t>(half[i]), std::bit_cast<uint32_t>(f16_to_f32(bits)))
          << target << " " << i;
      ASSERT_EQ(std::bit_cast<uint32_t>(brain[i]), i << 16) << target << " " << i;
    }
  });
}

TEST_F(EveryTarget, StaysInsideItsMemoryAtAwkwardLengths) {
  const auto bytes = all_patterns();
  for_each_target([&](const char* target) {
    for (const int64_t count : {0, 1, 3, 4, 7, 8, 9, 15, 16, 17, 31, 33}) {
      // Exact allocations: the sanitizer sees a step outside. An odd address: nothing may assume alignment.
      std::vector<std::byte> from(static_cast<size_t>(2 * count + 1));
      std::copy_n(bytes.begin() + 2 * 0x3C00, 2 * count, from.begin() + 1);
      std::vector<float> to(static_cast<size_t>(count));
      widen_f16(from.data() + 1, count, to.data());
      for (int64_t i = 0; i < count; ++i)
        ASSERT_EQ(to[static_cast<size_t>(i)], f16_to_f32(static_cast<uint16_t>(0x3C00 + i))) << target;
    }
  });
}

}  // namespace
}  // namespace assay

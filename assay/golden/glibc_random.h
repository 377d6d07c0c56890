// The numbers that srand() and rand() of the GNU C library give: operators that draw took theirs from it.
// The library's own state belongs to the process, and other libraries of C have other generators.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace assay {

// A draw is a quotient in f32 or in f64: this much is between the two.
inline constexpr double kDrawError = 0x1p-22;

class GlibcRandom {
 public:
  explicit GlibcRandom(uint32_t seed);
  uint32_t next();                                                    // 0 to 2^31 - 1
  double draw() { return static_cast<double>(next()) / 0x7fffffff; }  // 0 to 1

 private:
  static constexpr size_t kDegree = 31, kLag = 3;
  std::array<uint32_t, kDegree> state_{};
  size_t at_ = kLag;
};

}  // namespace assay

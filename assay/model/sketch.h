// What a tensor holds, in a few numbers that hardly depend on its type: enough to tell which of thousands of
// tensors another one is, though their names do not say.
#pragma once

#include "assay/tensor/operand.h"

#include <array>

namespace assay {

// Of the finite elements. They add up: the sums of a tensor are those of its parts together, whatever the
// order of the elements.
struct ContentSums {
  int64_t count = 0;  // of all elements
  double sum = 0, absolutes = 0, squares = 0;
  int64_t looked_at = 0;  // of the elements: those that were added up

  ContentSums& operator+=(const ContentSums& more);
  bool is_constant() const;  // one number throughout, as far as the sums tell
};

// How far two are apart, in units of what the sums of unrelated tensors of the same distribution differ by:
// rounding to any type of ours leaves it below 0.1, unrelated ones are about 1 apart. Infinite where their
// norms differ.
double distance(const ContentSums& a, const ContentSums& b);

enum class SketchDepth : uint8_t {
  some,  // of a large tensor a few stretches: enough to find an equal one, in no time
  all,
};

struct Sketch {
  static constexpr size_t kLanes = 64;

  TensorMeta meta;
  ContentSums sums;
  // Every lane adds up each 64th element, less the mean of all, with a sign by chance. The distance of two
  // such vectors is about that of the tensors (Johnson and Lindenstrauss), as long as their elements come in
  // the same order. With the mean in it, all norms whose weights are near 1 would look alike.
  std::array<double, kLanes> lanes{};
};

// About ‖a - b‖ / ‖b - mean of b‖ of tensors of as many elements; 0 for two of zeros, 1.4 for unrelated ones.
double relative_distance(const Sketch& a, const Sketch& b);

}  // namespace assay

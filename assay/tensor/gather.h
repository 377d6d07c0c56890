// Tensors whose elements lie scattered over a dense source: transposed, strided, cropped, in the fractal
// layouts of the NPU.
#pragma once

#include "assay/tensor/operand.h"

#include <vector>

namespace assay {

// One digit of an index: index = Σ digitᵢ · (product of the radices to its right); the leftmost radix does
// not matter.
struct Digit {
  int64_t radix = 1;
  int64_t stride = 0;  // in elements of the source
};

// How one dimension of the result walks through the source. Coordinate i of it stands for the number start +
// i, written in the mixed radix of `digits` (most significant first). A plain strided dimension has one
// digit.
struct Axis {
  int64_t extent = 0;
  std::vector<Digit> digits;
  int64_t start = 0;
};

// Element (i, j, …) of the result is element base + offset(i) + offset(j) + … of the source in row-major
// order. Reads bands of at most kBandElements elements, so memory does not grow with the tensor.
// Precondition: every such place lies inside the source (the makers below check what came from a file).
OperandPtr gathered(OperandPtr source, int64_t base, std::vector<Axis> axes);

// The view that numpy and torch describe by strides in elements. An error if it leaves the source.
Result<OperandPtr> strided(OperandPtr source, Shape shape, const std::vector<int64_t>& strides,
                           int64_t offset);

// `count` of the indices along a dimension from `first` on; transposed: of the source with its dimensions in
// reverse order, of which `axis` is one then. An error where there are not as many.
Result<OperandPtr> sliced(OperandPtr source, size_t axis, int64_t first, int64_t count,
                          bool transposed = false);

// Operands joined along a dimension; all other dimensions and the types are equal (else an error).
Result<OperandPtr> concatenated(std::vector<OperandPtr> parts, int64_t axis);

// The same elements under another shape of the same count.
OperandPtr reshaped(OperandPtr source, Shape shape);

}  // namespace assay

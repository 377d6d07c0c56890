// A part of a tensor as NumPy writes it: [0, :, 3], [..., -1], [2:8:2].
#pragma once

#include "assay/tensor/operand.h"

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace assay {

// One dimension of a slice.
struct SlicePart {
  enum class Kind : uint8_t {
    index,
    range,
    rest
  };  // rest: "...", all dimensions that nothing else speaks of
  Kind kind = Kind::range;
  std::optional<int64_t> start = {}, stop = {};  // of an index: start
  int64_t step = 1;
};

struct Slice {
  std::string text;  // "[0, :, 3]"
  std::vector<SlicePart> parts;
};

// The brackets may be left out. Steps are 1 or more.
Result<Slice> parse_slice(std::string_view text);

// The elements that the slice names; dimensions that it does not speak of are whole. Nothing is read.
Result<OperandPtr> sliced(OperandPtr source, const Slice& slice);

}  // namespace assay

#include "assay/run/compact/rest.h"

#include "assay/base/cancel.h"
#include "assay/tensor/dense.h"

#include <algorithm>

namespace assay {
namespace {

Result<int64_t> count_nonzero_bytes(const Operand& operand) {
  int64_t nonzero = 0;
  Scratch scratch;
  const int64_t count = operand.meta.shape.count();
  for (int64_t first = 0; first < count; first += kBlockElements) {
    ASSAY_TRY_DO(check_cancelled());
    ASSAY_TRY(const Block block, operand.block(first, std::min(kBlockElements, count - first), scratch));
    const Bytes bytes = block.bytes();
    nonzero += std::count_if(bytes.begin(), bytes.end(), [](std::byte b) { return b != std::byte{0}; });
  }
  return nonzero;
}

Result<int64_t> count_nonzero_bytes(const std::shared_ptr<const File>& file, int64_t offset, int64_t bytes) {
  return count_nonzero_bytes(*dense_in_file(file, offset, {DType::u8, Shape{{bytes}}}));
}

// Elements lie from the low bits on: those left over are the highest ones.
Result<bool> are_last_bits_set(const File& file, const Beside& part, int64_t bits) {
  if (bits == 0) return false;
  std::byte last[1] = {};
  ASSAY_TRY_DO(file.read(part.offset + part.bytes - 1, last));
  return std::to_integer<int>(last[0]) >> (8 - bits) != 0;
}

// Are all bytes zero but for those of the tensor that lies among them? Its elements may lie in any order, so
// what is not zero is counted on both sides.
Result<bool> is_nothing(const std::shared_ptr<const File>& file, const TensorSet& set, const Beside& part) {
  if (part.bytes == 0) return false;
  if (part.slot < 0)
    return count_nonzero_bytes(file, part.offset, part.bytes).map([](int64_t n) { return n == 0; });
  ASSAY_TRY(const OperandPtr tensor, set.tensors[static_cast<size_t>(part.slot)].data);
  const DType dtype = tensor->meta.dtype;
  if (const int64_t bits = info(dtype).storage_bits; bits < 8) {
    // Several elements to a byte: whatever stands there is taken for elements, and what is left of the last
    // byte by itself.
    ASSAY_TRY(const bool has_more_bits, are_last_bits_set(*file, part, part.bytes * 8 % bits));
    if (has_more_bits) return false;
    const OperandPtr region = packed_in_file(file, part.offset, {dtype, Shape{{part.bytes * 8 / bits}}});
    ASSAY_TRY(const int64_t all, count_nonzero_bytes(*region));
    ASSAY_TRY(const int64_t of_tensor, count_nonzero_bytes(*tensor));
    return all == of_tensor;
  }
  ASSAY_TRY(const int64_t all, count_nonzero_bytes(file, part.offset, part.bytes));
  ASSAY_TRY(const int64_t of_tensor, count_nonzero_bytes(*tensor));
  return all == of_tensor;
}

}  // namespace

Result<std::optional<Beside>> find_uncovered(const std::shared_ptr<const File>& file, const TensorSet& set,
                                             bool with_facts) {
  for (const Beside& part : set.beside) {
    if (part.in_facts && with_facts) continue;
    ASSAY_TRY(const bool nothing, is_nothing(file, set, part));
    if (!nothing) return part;
  }
  return std::nullopt;
}

}  // namespace assay

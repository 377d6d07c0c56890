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

// Are all bytes zero but for those of the tensor that lies among them? Its elements may lie in any order, so
// what is not zero is counted on both sides.
Result<bool> is_nothing(const std::shared_ptr<const File>& file, const TensorSet& set, const Beside& part) {
  if (part.bytes == 0) return false;
  if (part.slot < 0)
    return count_nonzero_bytes(file, part.offset, part.bytes).map([](int64_t n) { return n == 0; });
  ASSAY_TRY(const OperandPtr tensor, set.tensors[static_cast<size_t>(part.slot)].data);
  if (info(tensor->meta.dtype).storage_bits < 8) {  // several elements to a byte: they lie in order
    const int64_t used = packed_size(tensor->meta.dtype, tensor->meta.shape.count());
    return count_nonzero_bytes(file, part.offset + used, part.bytes - used).map([](int64_t n) {
      return n == 0;
    });
  }
  ASSAY_TRY(const int64_t all, count_nonzero_bytes(file, part.offset, part.bytes));
  ASSAY_TRY(const int64_t of_tensor, count_nonzero_bytes(*tensor));
  return all == of_tensor;
}

}  // namespace

Result<std::optional<std::string>> find_uncovered(const std::shared_ptr<const File>& file,
                                                  const TensorSet& set) {
  for (const Beside& part : set.beside) {
    ASSAY_TRY(const bool nothing, is_nothing(file, set, part));
    if (!nothing) return part.what;
  }
  return std::nullopt;
}

}  // namespace assay

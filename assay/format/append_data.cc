#include "assay/format/append_data.h"

#include "assay/base/cancel.h"
#include "assay/tensor/dense.h"

#include <algorithm>

namespace assay {

Result<void> append_data(FileWriter& out, const Operand& tensor) {
  static_assert(kBlockElements % 8 == 0, "a packed run must end with a whole byte");
  const DType dtype = tensor.meta.dtype;
  const bool packed = info(dtype).storage_bits < 8;
  const int64_t count = tensor.meta.shape.count();
  std::vector<std::byte> bytes;
  Scratch scratch;
  for (int64_t first = 0; first < count; first += kBlockElements) {
    ASSAY_TRY_DO(check_cancelled());
    ASSAY_TRY(const Block block, tensor.block(first, std::min(kBlockElements, count - first), scratch));
    if (!packed) {
      ASSAY_TRY_DO(out.append(block.bytes()));
      continue;
    }
    bytes.resize(static_cast<size_t>(packed_size(dtype, block.count)));
    pack(dtype, block.data, block.count, bytes.data());
    ASSAY_TRY_DO(out.append(bytes));
  }
  return {};
}

}  // namespace assay

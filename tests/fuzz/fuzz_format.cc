// Any bytes, read as every format: an error or tensors whose blocks can be asked for, never a crash.
#include "tests/fuzz/target.h"

#include "assay/format/format.h"

#include <algorithm>

namespace assay {
namespace {

void read_blocks(const Operand& tensor) {
  const int64_t count = tensor.meta.shape.count();
  const int64_t length = std::min(count, kBlockElements);
  Scratch scratch;
  for (const int64_t first : {int64_t{0}, count / 2, count - length}) {
    const auto block = tensor.block(first, std::min(length, count - first), scratch);
    check_error(block);
    if (block) ASSAY_CHECK(block->count == std::min(length, count - first));
    // The last byte is touched, so that a block that is too short is found.
    if (block && block->count > 0) [[maybe_unused]]
      volatile std::byte last = block->bytes().back();
  }
}

void read_tensors(const Result<TensorSet>& set) {
  check_error(set);
  if (!set) return;
  const size_t enough = std::min<size_t>(set->tensors.size(), 32);
  for (size_t i = 0; i < enough; ++i) {
    check_error(set->tensors[i].data);
    if (set->tensors[i].data) read_blocks(**set->tensors[i].data);
  }
}

}  // namespace
}  // namespace assay

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace assay;
  static const TemporaryFile input("input.npy");
  input.fill(data, size);
  const auto file = File::open(input.path());
  ASSAY_CHECK(file.has_value());
  FormatOptions options;
  options.memory = int64_t{64} << 20;
  options.values = size % 2 == 0;
  options.nests = size % 4 == 0;
  for (const Format* const format : formats()) read_tensors(format->open(*file, options));
  read_tensors(open_tensors(input.path(), options));
  options.raw_dtype = DType::f16;
  if (size > 0) options.raw_offset = data[0];
  read_tensors(open_tensors(input.path(), options));
  return 0;
}

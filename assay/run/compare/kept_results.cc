#include "assay/run/compare/kept_results.h"

#include "assay/tensor/dense.h"

#include <algorithm>
#include <cstring>

namespace assay {
namespace {

int64_t bytes_of(const Operand& data) { return data.meta.shape.count() * size_of(data.meta.dtype); }

// Read once: what is kept holds no file open.
Result<OperandPtr> read_whole(const Operand& data) {
  const int64_t size = size_of(data.meta.dtype), count = data.meta.shape.count();
  std::vector<std::byte> bytes(static_cast<size_t>(count * size));
  Scratch scratch;
  for (int64_t first = 0; first < count; first += kBlockElements) {
    const int64_t n = std::min(kBlockElements, count - first);
    ASSAY_TRY(const Block block, data.block(first, n, scratch));
    std::memcpy(bytes.data() + first * size, block.bytes().data(), static_cast<size_t>(n * size));
  }
  return dense_in_memory(std::move(bytes), data.meta);
}

Result<Expected> read_whole(Expected expected) {
  for (OperandPtr* const part : {&expected.value, &expected.allowed, &expected.known}) {
    if (*part == nullptr) continue;
    ASSAY_TRY(*part, read_whole(**part));
  }
  return expected;
}

}  // namespace

Result<Expected> KeptResults::find_or_make(const std::string& key, int askers, int64_t most_bytes,
                                           const std::function<Result<Expected>()>& make) {
  {
    const std::scoped_lock lock(guard_);
    if (const auto found = kept_.find(key); found != kept_.end()) {
      Result<Expected> result = found->second.result;
      if (--found->second.askers <= 0) {
        bytes_ -= found->second.bytes;
        kept_.erase(found);
      }
      return result;
    }
  }
  Result<Expected> result = make();
  if (askers < 2 || (!result && result.error().kind == ErrorKind::cancelled)) return result;
  int64_t bytes = 0;
  if (result)
    for (const OperandPtr& part : {result->value, result->allowed, result->known})
      if (part != nullptr) bytes += bytes_of(*part);
  {
    const std::scoped_lock lock(guard_);
    if (bytes > most_bytes - bytes_ || kept_.contains(key)) return result;
    bytes_ += bytes;
  }
  if (result) result = read_whole(std::move(*result));
  const std::scoped_lock lock(guard_);
  if (!kept_.try_emplace(key, Kept{result, bytes, askers - 1}).second) bytes_ -= bytes;
  return result;
}

}  // namespace assay

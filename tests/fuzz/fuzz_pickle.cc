// A pickle in memory, without the container that a .pt file puts around it.
#include "tests/fuzz/target.h"

#include "assay/format/pickle.h"

#include <cstring>

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace assay;
  const auto read = [&](int64_t offset, std::span<std::byte> out) -> Result<void> {
    ASSAY_CHECK(offset >= 0 && static_cast<size_t>(offset) + out.size() <= size);
    if (!out.empty()) std::memcpy(out.data(), data + offset, out.size());
    return {};
  };
  constexpr int64_t kMemory = int64_t{64} << 20;
  PickleInput input(read, 0, static_cast<int64_t>(size), kMemory, "input.pkl");
  const auto graph = read_pickle(input, kMemory);
  check_error(graph);
  if (!graph) return 0;
  ASSAY_CHECK(graph->root < graph->values.size());
  ASSAY_CHECK(graph->size <= static_cast<int64_t>(size));
  for (const PickleValue& value : graph->values) {
    ASSAY_CHECK(value.state < graph->values.size());
    for (const PickleRef item : value.items) ASSAY_CHECK(item < graph->values.size());
  }
  return 0;
}

// Statistics of a GE dump.
#include "tests/fuzz/target.h"

#include "assay/dump/ge_stats_csv.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace assay;
  static const TemporaryFile file("Add.Add.1.2.3.csv");
  file.fill(data, size);
  Remarks warnings;
  const auto tensors = read_ge_stats_csv(file.path(), warnings);
  check_error(tensors);
  for (const std::string& warning : warnings) ASSAY_CHECK(warning.find('\n') == std::string::npos);
  if (!tensors) return 0;
  for (const GeStatedTensor& tensor : *tensors) {
    ASSAY_CHECK(tensor.port.index >= 0 && tensor.draft.name.find('.') != std::string::npos);
    if (tensor.draft.meta) ASSAY_CHECK(tensor.draft.meta->byte_size() >= 0);
  }
  return 0;
}

// The files beside the tensors of a folder that say in which order they belong.
#include "tests/fuzz/target.h"

#include "assay/dump/manifest.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace assay;
  constexpr int64_t kMemory = int64_t{1} << 20;
  static const TemporaryFile text("manifest.txt"), json("manifest.json");
  for (const TemporaryFile* const file : {&text, &json}) {
    file->fill(data, size);
    check_error(read_manifest(file->path().parent_path(), kMemory));
  }
  return 0;
}

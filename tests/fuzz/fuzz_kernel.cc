// statistic.csv and mapping.csv of MindSpore kernel dumps, and the names of their files.
#include "tests/fuzz/target.h"

#include "assay/dump/ms_kernel.h"
#include "assay/dump/ms_kernel_parts.h"

#include <fstream>

namespace assay {
namespace {

void check_folder(const fs::path& folder) {
  for (const std::string& warning : read_kernel_folder(folder, false).warnings)
    ASSAY_CHECK(warning.find('\n') == std::string::npos);
  const auto frame = ms_kernel_layout.index(FrameInfo{At{}, {folder}}, {});
  check_error(frame);
  if (!frame) return;
  for (const Node& node : frame->nodes)
    for (const Item& item : node.items) {
      ASSAY_CHECK(item.trouble.find('\n') == std::string_view::npos);
      if (item.data) ASSAY_CHECK(item.data->file < std::ssize(frame->files));
    }
}

}  // namespace
}  // namespace assay

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace assay;
  static const TemporaryFile statistics("statistic.csv"), long_names("mapping.csv");
  static const fs::path tensor =
      long_names.path().parent_path() / "Add.Default_Add-op0.1.2.100.input.0.ND.npy";
  if (static bool is_written = false; !is_written) {
    std::ofstream(tensor) << "not a tensor";
    is_written = true;
  }
  statistics.fill(data, size);
  static_cast<void>(is_kernel_statistics(statistics.path()));
  check_folder(statistics.path().parent_path());
  long_names.fill(data, size);
  check_folder(long_names.path().parent_path());
  if (const auto name = parse_kernel_name({reinterpret_cast<const char*>(data), size}))
    ASSAY_CHECK(!name->key().empty());
  return 0;
}

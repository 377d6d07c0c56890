// dump.json of msprobe, and the stack.json and construct.json beside one.
#include "tests/fuzz/target.h"

#include "assay/base/text.h"
#include "assay/dump/msprobe.h"

#include <algorithm>
#include <fstream>

namespace assay {
namespace {

constexpr const char* kGoodDump =
    R"({"task": "statistics", "level": "mix", "framework": "pytorch", "data": {
"Module.fc.Linear.forward.0": {"input_args": [{"type": "int", "value": 1}], "output": [null]},
"Torch.add.0.forward": {"input_args": [null], "output": [{"type": "torch.Tensor", "dtype": "torch.float32",
"shape": [2], "Max": 1, "Min": 0, "Mean": 0.5, "Norm": 1, "requires_grad": false}]},
"Torch.add.0.backward": {"input": [null], "output": [null]}}})";

void check_frame(const Frame& frame) {
  for (const std::string& warning : frame.warnings) ASSAY_CHECK(warning.find('\n') == std::string::npos);
  for (const Node& node : frame.nodes) {
    ASSAY_CHECK(printable(node.name) == node.name);
    for (const Item& item : node.items) {
      ASSAY_CHECK(item.stated != nullptr || !item.trouble.empty());
      if (!item.data) continue;
      ASSAY_CHECK(item.data->file >= 0 && item.data->file < std::ssize(frame.files));
      const fs::path& file = frame.files[static_cast<size_t>(item.data->file)].path;
      ASSAY_CHECK(std::find(file.begin(), file.end(), "..") == file.end());
    }
  }
}

void index(const fs::path& dump, const OpenOptions& options) {
  const auto frame = msprobe_layout.index(FrameInfo{At{}, {dump}}, options);
  check_error(frame);
  if (frame) check_frame(*frame);
}

}  // namespace
}  // namespace assay

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace assay;
  static const TemporaryFile dump("dump.json"), stacks("stack.json"), parents("construct.json");
  static const fs::path good = parents.path().parent_path() / "dump.json";
  if (static bool is_written = false; !is_written) {
    std::ofstream(good) << kGoodDump;
    is_written = true;
  }
  OpenOptions options;
  options.format.memory = int64_t{16} << 20;
  dump.fill(data, size);
  index(dump.path(), options);
  check_error(read_msprobe_head(dump.path()));

  stacks.fill(data, size);
  parents.fill(data, size);
  options.stack_file = stacks.path();
  options.structure = true;
  index(good, options);
  return 0;
}

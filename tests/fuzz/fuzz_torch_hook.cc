// model_tree.json of msit's hooks on torch modules, and the statistics.csv of a module.
#include "tests/fuzz/target.h"

#include "assay/dump/torch_hook.h"
#include "assay/model/graph.h"

#include <fstream>

namespace assay {
namespace {

void check_token(const fs::path& token) {
  const auto frame = torch_hook_layout.index(FrameInfo{At{}, {token}}, {});
  check_error(frame);
  if (!frame) return;
  for (const std::string& warning : frame->warnings) ASSAY_CHECK(warning.find('\n') == std::string::npos);
  const std::vector<GraphOp>& ops = frame->tree().ops;
  for (size_t i = 0; i < ops.size(); ++i) ASSAY_CHECK(ops[i].parent < static_cast<int32_t>(i));
  for (const Node& node : frame->nodes)
    for (const Item& item : node.items)
      if (item.data) ASSAY_CHECK(item.data->file < std::ssize(frame->files));
}

}  // namespace
}  // namespace assay

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace assay;
  static const TemporaryFile tree("model_tree.json");
  static const fs::path token = tree.path().parent_path() / "0";
  if (static bool is_written = false; !is_written) {
    fs::create_directories(token / "root");
    fs::create_directories(token / "root.lm_head");
    std::ofstream(token / "root.lm_head" / "output.pth") << "not a tensor";
    is_written = true;
  }
  tree.fill(data, size);
  std::ofstream(token / "root" / "statistics.csv", std::ios::binary)
      .write(reinterpret_cast<const char*>(data), static_cast<std::streamsize>(size));
  check_token(token);
  return 0;
}

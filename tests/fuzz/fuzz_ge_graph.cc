// Graphs of GE in text form; and their text, every string read or passed over, which must come to the same
// end.
#include "tests/fuzz/target.h"

#include "assay/graph/ge_graph_file.h"
#include "assay/support/text_format.h"

#include <algorithm>

namespace assay {
namespace {

constexpr int64_t kMemory = int64_t{1} << 20;

struct Walk {
  int64_t events = 0;
  bool has_failed = false;
};

Walk walk(const fs::path& path, bool reads_texts) {
  TextFormatReader reader(*File::open(path), kMemory);
  Walk out;
  std::string text;
  for (int64_t depth = 0;; ++out.events) {
    const TextEvent event = reader.next();
    if (event == TextEvent::text && reads_texts) reader.read_text(text);
    depth += (event == TextEvent::open) - (event == TextEvent::close);
    ASSAY_CHECK(depth >= 0);
    if (event == TextEvent::failed) {
      ASSAY_CHECK(reader.error().message.find('\n') == std::string::npos && !reader.error().message.empty());
      out.has_failed = true;
      return out;
    }
    if (event == TextEvent::end) {
      ASSAY_CHECK(depth == 0);
      return out;
    }
  }
}

void check_graph(const Graph& graph) {
  ASSAY_CHECK(!graph.ops.empty() && graph.position.size() == graph.ops.size());
  std::vector<int32_t> order = graph.position;
  std::sort(order.begin(), order.end());
  for (size_t i = 0; i < order.size(); ++i) ASSAY_CHECK(order[i] == static_cast<int32_t>(i));
  for (const GraphOp& op : graph.ops) {
    ASSAY_CHECK(graph.find(op.name) >= 0);
    for (const GraphInput& input : op.inputs)
      ASSAY_CHECK(input.output >= -1 && input.value < std::ssize(graph.values));
  }
  for (const GraphValue& value : graph.values)
    ASSAY_CHECK(value.output >= 0 && value.producer < std::ssize(graph.ops));
}

}  // namespace
}  // namespace assay

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace assay;
  static const TemporaryFile file("graph.txt");
  file.fill(data, size);
  const auto graph = read_ge_graph(file.path(), kMemory);
  check_error(graph);
  if (graph) check_graph(*graph);
  const Walk read = walk(file.path(), true), passed = walk(file.path(), false);
  // Escapes of a string that is passed over are not looked at; nothing else may differ.
  ASSAY_CHECK(read.has_failed || (!passed.has_failed && passed.events == read.events));
  ASSAY_CHECK(read.events <= passed.events);
  return 0;
}

// Topology files of ATB, drawn as ONNX at several levels, and the tables of types beside them.
#include "tests/fuzz/target.h"

#include "assay/graph/onnx_graph.h"
#include "assay/graph/onnx_writer.h"
#include "assay/graph/operation_tables.h"

#include <string_view>
#include <unordered_set>

namespace assay {
namespace {

constexpr int64_t kMemory = int64_t{16} << 20;

void check_tree(const AtbTopology& topology) {
  ASSAY_CHECK(!topology.ops.empty() && topology.ops.front().parent == -1);
  for (const std::string& warning : topology.warnings) ASSAY_CHECK(warning.find('\n') == std::string::npos);
  for (size_t i = 0; i < topology.ops.size(); ++i)
    for (const int32_t child : topology.ops[i].children)
      ASSAY_CHECK(topology.ops.at(static_cast<size_t>(child)).parent == static_cast<int32_t>(i));
}

// What a checker of ONNX asks for: written once, and before it is read.
void check_tensors(const AtbTopology& topology, int level) {
  const Graph graph = graph_of_level(topology, level);
  const OnnxTensors tensors = tensors_of(graph, topology);
  ASSAY_CHECK(tensors.nodes.size() + 2 == graph.ops.size());
  std::unordered_set<std::string_view> known;
  const auto name = [&](int32_t id) -> std::string_view { return tensors.names.at(static_cast<size_t>(id)); };
  for (const int32_t id : tensors.inputs) ASSAY_CHECK(!name(id).empty() && known.insert(name(id)).second);
  for (const OnnxNode& node : tensors.nodes) {
    for (const int32_t id : node.ins) ASSAY_CHECK(id < 0 || known.contains(name(id)));
    for (const int32_t id : node.outs) ASSAY_CHECK(id < 0 || known.insert(name(id)).second);
  }
}

}  // namespace
}  // namespace assay

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace assay;
  static const TemporaryFile json("topology.json"), table("operation_tensors_0.csv");
  json.fill(data, size);
  table.fill(data, size);
  const auto topology = read_atb_topology(json.path(), kMemory);
  check_error(topology);
  AtbTopology small;  // for tables when the bytes are no topology
  small.ops.emplace_back().name = "LinearOperation_0_0";
  const AtbTopology& drawn = topology ? *topology : small;
  check_tree(drawn);
  for (const int level : {kLeaves, 0, 1}) {
    check_tensors(drawn, level);
    auto out = FileWriter::create(json.path().parent_path() / "x.onnx", IfExists::replace);
    ASSAY_CHECK(out.has_value());
    check_error(write_onnx(drawn, level, {{table.path()}, kMemory}, *out));
  }
  return 0;
}

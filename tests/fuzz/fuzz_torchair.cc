// Names of a TorchAir dump: of files and folders, in mapping.csv, and those that a fused operator is made of.
// The input is mapping.csv; its lines up to an empty one are operators of a graph, those behind it names.
#include "tests/fuzz/target.h"

#include "assay/base/text.h"
#include "assay/dump/torchair_names.h"
#include "assay/model/ge_origins.h"

namespace assay {
namespace {

bool lies_in(std::string_view part, std::string_view whole) {
  return part.empty() ||
         (part.data() >= whole.data() && part.data() + part.size() <= whole.data() + whole.size());
}

void check_name(std::string_view name) {
  if (const auto file = parse_ge_file(name)) {
    ASSAY_CHECK(!file->op_type.empty() && !file->op_name.empty() && !file->timestamp.empty());
    ASSAY_CHECK(lies_in(file->op_type, name) && lies_in(file->op_name, name) &&
                lies_in(file->timestamp, name));
    ASSAY_CHECK(file->op_type.data() + file->op_type.size() < file->op_name.data());
    ASSAY_CHECK(file->op_name.data() + file->op_name.size() < file->timestamp.data());
  }
  if (const auto file = parse_fx_file(name)) {
    ASSAY_CHECK(!file->key.empty() && lies_in(file->key, name) && lies_in(file->timestamp, name));
    ASSAY_CHECK(file->port.index >= 0 && file->part >= -1 && file->rank >= -1);
    ASSAY_CHECK(file->port.direction == Direction::input || file->port.direction == Direction::output);
  }
  if (const auto graph = parse_graph_file(name)) ASSAY_CHECK(graph->graph >= -1 && graph->rank >= -1);
  ASSAY_CHECK(rank_of_folder(name).value_or(0) >= 0 && graph_of_folder(name).value_or(0) >= 0);
  ASSAY_CHECK(lies_in(source_of(name).name, name));
}

// Each line "name input input …".
GeGraph graph_of(const std::vector<std::string_view>& lines) {
  GeGraph graph;
  for (const std::string_view line : lines) {
    const std::vector<std::string_view> words = split(line, ' ');
    GeOp op{std::string(words[0]), {}, {}, {}, {}};
    for (size_t i = 1; i < words.size(); ++i)
      op.inputs.push_back({std::string(words[i]), i % 3 == 2 ? -1 : 0});
    if (words.size() > 3) {  // what it says it was fused from may be anything, itself among it
      GeOp fused = op;
      for (size_t i = 0; i < 3; ++i) fused.original_names.emplace_back(words[i]);
      GeOutput& output = fused.outputs.emplace_back();
      output.origin_name = words[3];
      graph.fused.push_back(std::move(fused));
    }
    graph.ops.push_back(std::move(op));
  }
  graph.finish();
  return graph;
}

void check_origins(const GeGraph& graph, std::string_view name) {
  const std::vector<const GeOp*> origins = origins_of(graph, name);
  size_t length = 0;
  for (const GeOp* op : origins) {
    ASSAY_CHECK(op >= graph.ops.data() && op < graph.ops.data() + graph.ops.size());
    length += op->name.size();
  }
  // The whole name is used up, but for a slice; or the graph said so.
  const std::string_view whole = name.substr(0, name.rfind("_lxslice"));
  const bool is_said = graph.find(whole) != nullptr || graph.find(name) != nullptr ||
                       graph.find_fused(whole) != nullptr || graph.find_fused(name) != nullptr;
  ASSAY_CHECK(origins.empty() || is_said || length == name.size() || length == name.rfind("_lxslice"));
  for (const OuterInput& input : outer_inputs(origins)) {
    ASSAY_CHECK(input.index < input.op->inputs.size() && input.from->output >= 0);
    for (const GeOp* op : origins) ASSAY_CHECK(op->name != input.from->producer);
  }
  const OutputOrigins::Origin first = OutputOrigins(graph, name, origins).of(0);
  ASSAY_CHECK(first.op == nullptr || graph.find(first.op->name) != nullptr);
  const auto place = place_of(graph, name);
  ASSAY_CHECK(!place || (*place >= 0 && *place < static_cast<int32_t>(graph.ops.size())));
}

}  // namespace
}  // namespace assay

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace assay;
  static const TemporaryFile file("mapping.csv");
  file.fill(data, size);
  Remarks warnings;
  for (const auto& [digits, name] : read_long_names(file.path().parent_path(), warnings)) check_name(name);
  const std::vector<std::string_view> lines =
      split(std::string_view(reinterpret_cast<const char*>(data), size), '\n');
  const auto gap = std::find(lines.begin(), lines.end(), "");
  const GeGraph graph = graph_of({lines.begin(), gap});
  for (auto line = gap; line != lines.end(); ++line) {
    check_name(*line);
    check_origins(graph, *line);
  }
  return 0;
}

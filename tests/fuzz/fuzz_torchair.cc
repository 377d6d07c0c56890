// Names of a TorchAir dump: of files and folders, in mapping.csv, and those that a fused operator is made of.
// The input is mapping.csv; its lines up to an empty one are operators of a graph, those behind it names.
#include "tests/fuzz/target.h"

#include "assay/base/text.h"
#include "assay/dump/torchair_names.h"
#include "assay/model/origins.h"

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
Graph graph_of(const std::vector<std::string_view>& lines) {
  Graph graph;
  for (const std::string_view line : lines) {
    const std::vector<std::string_view> words = split(line, ' ');
    GraphOp op{graph.strings.keep(words[0]), {}};
    for (size_t i = 1; i < words.size(); ++i)
      op.inputs.push_back({graph.strings.keep(words[i]), i % 3 == 2 ? -1 : 0});
    if (words.size() > 3) {  // what it says it was fused from may be anything, itself among it
      GraphOp fused = op;
      fused.fused_from = {words[0], words[1], words[2]};
      fused.outputs.push_back({.origin_name = words[3]});
      graph.add_fused(fused);
    }
    graph.add(std::move(op));
  }
  graph.connect_by_producers();
  return graph;
}

void check_origins(const Graph& graph, std::string_view name) {
  const std::vector<int32_t> origins = origins_of(graph, name);
  size_t length = 0;
  for (const int32_t op : origins) {
    ASSAY_CHECK(op >= 0 && op < std::ssize(graph.ops));
    length += graph.at(op).name.size();
  }
  // The whole name is used up, but for a slice; or the graph said so.
  const std::string_view whole = name.substr(0, name.rfind("_lxslice"));
  const bool is_said = graph.find(whole) >= 0 || graph.find(name) >= 0 ||
                       graph.find_fused(whole) != nullptr || graph.find_fused(name) != nullptr;
  ASSAY_CHECK(origins.empty() || is_said || length == name.size() || length == name.rfind("_lxslice"));
  for (const OuterInput& input : outer_inputs(graph, origins)) {
    ASSAY_CHECK(input.index < graph.at(input.op).inputs.size() && input.from->output >= 0);
    for (const int32_t op : origins) ASSAY_CHECK(graph.at(op).name != input.from->name);
  }
  const OutputOrigins::Origin first = OutputOrigins(graph, name, origins).of(0);
  ASSAY_CHECK(first.op < 0 || graph.find(graph.at(first.op).name) == first.op);
  const auto place = place_of(graph, origins);
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
  const Graph graph = graph_of({lines.begin(), gap});
  for (auto line = gap; line != lines.end(); ++line) {
    check_name(*line);
    check_origins(graph, *line);
  }
  return 0;
}

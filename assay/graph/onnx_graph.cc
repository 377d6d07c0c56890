#include "assay/graph/onnx_graph.h"

#include "assay/base/text.h"
#include "assay/graph/atb_op.h"
#include "assay/graph/unique_names.h"

#include <unordered_map>
#include <unordered_set>

namespace assay {
namespace {

using Names = std::unordered_set<std::string_view>;

// Each once, and only those that are some.
std::vector<std::string_view> distinct(const std::vector<std::string>& names, StringPool& strings) {
  std::vector<std::string_view> found;
  Names seen;
  for (const std::string& name : names)
    if (!name.empty() && seen.insert(name).second) found.push_back(strings.keep(name));
  return found;
}

Names given_names(const AtbTopology& topology) {
  Names given(topology.weights.begin(), topology.weights.end());
  given.insert(topology.caches.begin(), topology.caches.end());
  return given;
}

class TensorBuilder {
 public:
  TensorBuilder(const Graph& graph, const AtbTopology& topology) : graph_(graph), topology_(topology) {}

  OnnxTensors build();

 private:
  int32_t last_op() const { return static_cast<int32_t>(graph_.ops.size() - 1); }
  void name_values();
  void find_inputs();
  void add_nodes();
  int32_t read(int32_t op, const GraphInput& input, std::unordered_map<int32_t, int32_t>& circles);
  void make_names_unique();
  void warn_of(std::span<const std::string_view> names, std::string_view what);

  const Graph& graph_;
  const AtbTopology& topology_;
  OnnxTensors out_;
  std::vector<std::string_view> raw_names_;  // of the tensors
  std::vector<std::string_view> undefined_, unwritten_, circles_;
};

void TensorBuilder::name_values() {
  raw_names_.resize(graph_.values.size());
  for (const GraphOp& op : graph_.ops) {
    for (const GraphInput& input : op.inputs)
      if (input.value >= 0) raw_names_[static_cast<size_t>(input.value)] = input.name;
    for (const GraphOutput& output : op.outputs)
      if (output.value >= 0) raw_names_[static_cast<size_t>(output.value)] = output.name;
  }
}

// Behind them stand those that only the outputs of the topology name: nothing writes them, nothing reads
// them.
void TensorBuilder::find_inputs() {
  const Names given = given_names(topology_);
  for (size_t i = 0; i < graph_.values.size(); ++i) {
    const GraphValue& value = graph_.values[i];
    if (value.producer > 0) continue;
    if (value.producer < 0 && value.consumers.front() == last_op()) {
      unwritten_.push_back(raw_names_[i]);
      continue;
    }
    if (value.producer < 0 && !given.contains(raw_names_[i])) undefined_.push_back(raw_names_[i]);
    out_.inputs.push_back(static_cast<int32_t>(i));
  }
  for (const GraphInput& output : graph_.ops.back().inputs) out_.outputs.push_back(output.value);
}

// What the operation reads and only a later one writes becomes an input of the graph.
int32_t TensorBuilder::read(int32_t op, const GraphInput& input,
                            std::unordered_map<int32_t, int32_t>& circles) {
  const int32_t writer = graph_.producer_of(input.value);
  const auto position = [&](int32_t of) { return graph_.position[static_cast<size_t>(of)]; };
  if (writer < 0 || position(writer) <= position(op)) return input.value;
  const auto [known, is_new] = circles.try_emplace(input.value, static_cast<int32_t>(raw_names_.size()));
  if (is_new) {
    circles_.push_back(input.name);
    raw_names_.push_back(input.name);
    out_.inputs.push_back(known->second);
  }
  return known->second;
}

void TensorBuilder::add_nodes() {
  for (const int32_t op : graph_.in_order()) {
    if (op == 0 || op == last_op()) continue;
    OnnxNode& node = out_.nodes.emplace_back(OnnxNode{op, {}, {}});
    std::unordered_map<int32_t, int32_t> circles;
    for (const GraphInput& input : graph_.at(op).inputs) node.ins.push_back(read(op, input, circles));
    for (const GraphOutput& output : graph_.at(op).outputs) node.outs.push_back(output.value);
  }
}

// An output of the graph keeps the name of the file, unless an input has it; else the first tensor does.
void TensorBuilder::make_names_unique() {
  std::unordered_map<std::string_view, int32_t> keepers;
  for (size_t id = 0; id < raw_names_.size(); ++id)
    keepers.try_emplace(raw_names_[id], static_cast<int32_t>(id));
  std::vector<bool> is_input(raw_names_.size(), false);
  for (const int32_t id : out_.inputs) is_input[static_cast<size_t>(id)] = true;
  for (const int32_t id : out_.outputs)
    if (int32_t& keeper = keepers.at(raw_names_[static_cast<size_t>(id)]);
        !is_input[static_cast<size_t>(keeper)])
      keeper = id;
  out_.names.resize(raw_names_.size());
  UniqueNames unique;
  for (const bool keeps_name : {true, false})
    for (size_t id = 0; id < raw_names_.size(); ++id)
      if ((keepers.at(raw_names_[id]) == static_cast<int32_t>(id)) == keeps_name)
        out_.names[id] = unique.claim(printable(raw_names_[id]));
}

void TensorBuilder::warn_of(std::span<const std::string_view> names, std::string_view what) {
  if (!names.empty())
    out_.warnings.push_back(
        fmt::format("{}: {}; the first is '{}'", what, names.size(), printable(names.front())));
}

OnnxTensors TensorBuilder::build() {
  name_values();
  find_inputs();
  add_nodes();
  make_names_unique();
  warn_of(undefined_, "tensors read and never written, shown as inputs");
  warn_of(circles_, "tensors that wait for each other in a circle, shown as inputs too");
  warn_of(unwritten_, "outputs that nothing writes");
  return std::move(out_);
}

}  // namespace

Graph graph_of_level(const AtbTopology& topology, int level) {
  Graph graph;
  graph.name = topology.name;
  GraphOp inputs{.name = {}, .type = {}, .kind = OpKind::given};
  for (const std::string_view name : distinct(topology.inputs, graph.strings))
    inputs.outputs.push_back({.name = name});
  graph.add(std::move(inputs));
  std::vector<int> depth(topology.ops.size(), 0);
  for (size_t i = 0; i < topology.ops.size(); ++i) {
    const AtbOp& op = topology.ops[i];
    if (op.parent >= 0) depth[i] = depth[static_cast<size_t>(op.parent)] + 1;
    const bool is_deeper = level >= 0 && depth[i] > level;
    if (!is_deeper && (op.children.empty() || depth[i] == level)) graph.add(graph_op_of(op, graph.strings));
  }
  GraphOp outputs;
  for (const std::string_view name : distinct(topology.outputs, graph.strings))
    outputs.inputs.push_back({name});
  graph.add(std::move(outputs));
  graph.connect_by_names_in_any_order(given_names(topology));
  return graph;
}

OnnxTensors tensors_of(const Graph& graph, const AtbTopology& topology) {
  return TensorBuilder(graph, topology).build();
}

}  // namespace assay

#include "assay/graph/tensor_flow.h"

#include "assay/base/text.h"
#include "assay/graph/unique_names.h"

#include <algorithm>
#include <functional>
#include <limits>
#include <queue>
#include <string_view>
#include <unordered_map>
#include <unordered_set>

namespace assay {
namespace {

constexpr int32_t kNone = -1;

// What one name of the file stands for, as far as we have got.
constexpr size_t kNobody = std::numeric_limits<size_t>::max();

struct NameState {
  int32_t keeper = kNone;         // the tensor that keeps the name as it is
  int32_t current = kNone;        // what a reader gets now
  int32_t promised = kNone;       // read already, by an operation that stands before the one that writes it
  size_t first_writer = kNobody;  // among the nodes
  bool is_given = false;          // a weight or a cache
};

class FlowBuilder {
 public:
  FlowBuilder(const AtbTopology& topology, std::span<const int32_t> ops) : topology_(topology), ops_(ops) {}

  TensorFlow build();

 private:
  int32_t add_version(std::string_view name, bool is_input);
  int32_t read(std::string_view name, size_t node);
  int32_t write(std::string_view name, size_t node);
  void add_nodes();
  void add_outputs();
  void sort_nodes();
  void break_circle(FlowNode& node);
  void name_tensors();
  void warn_of(std::span<const std::string_view> names, std::string_view what);

  const AtbTopology& topology_;
  const std::span<const int32_t> ops_;
  TensorFlow flow_;
  std::unordered_map<std::string_view, NameState> states_;
  std::vector<std::string_view> raw_names_;  // of the tensors
  std::vector<size_t> writers_;              // of the tensors: the node, or npos
  std::vector<bool> is_done_;                // of the nodes
  std::vector<std::string_view> undefined_, unwritten_, circles_;
};

int32_t FlowBuilder::add_version(std::string_view name, bool is_input) {
  const auto id = static_cast<int32_t>(raw_names_.size());
  raw_names_.push_back(name);
  writers_.push_back(kNobody);
  NameState& state = states_[name];
  if (state.keeper == kNone) state.keeper = id;
  if (is_input) flow_.inputs.push_back(id);
  return id;
}

int32_t FlowBuilder::read(std::string_view name, size_t node) {
  if (name.empty()) return kNone;
  NameState& state = states_[name];
  if (state.current != kNone) return state.current;
  if (!state.is_given && state.first_writer != kNobody && state.first_writer > node) {
    if (state.promised == kNone) state.promised = add_version(name, false);
    return state.promised;
  }
  if (!state.is_given) undefined_.push_back(name);
  return state.current = add_version(name, true);
}

int32_t FlowBuilder::write(std::string_view name, size_t node) {
  if (name.empty()) return kNone;
  NameState& state = states_[name];
  state.current = state.promised != kNone ? state.promised : add_version(name, false);
  state.promised = kNone;
  writers_[static_cast<size_t>(state.current)] = node;
  return state.current;
}

void FlowBuilder::add_nodes() {
  for (size_t node = 0; node < ops_.size(); ++node) {
    const AtbOp& op = topology_.ops[static_cast<size_t>(ops_[node])];
    FlowNode& made = flow_.nodes.emplace_back(FlowNode{ops_[node], {}, {}});
    for (const std::string& name : op.in_tensors) made.ins.push_back(read(name, node));
    for (const std::string& name : op.out_tensors) made.outs.push_back(write(name, node));
  }
}

void FlowBuilder::add_outputs() {
  std::unordered_set<std::string_view> seen;
  for (const std::string& name : topology_.outputs) {
    if (name.empty() || !seen.insert(name).second) continue;
    const int32_t current = states_[name].current;
    if (current == kNone) unwritten_.push_back(name);
    flow_.outputs.push_back(current != kNone ? current : add_version(name, false));
  }
}

// What the node reads and nobody has written yet becomes an input of the graph.
void FlowBuilder::break_circle(FlowNode& node) {
  std::unordered_map<int32_t, int32_t> inputs;
  for (int32_t& in : node.ins) {
    if (in == kNone) continue;
    const size_t writer = writers_[static_cast<size_t>(in)];
    if (writer == kNobody || is_done_[writer]) continue;
    const auto [known, is_new] = inputs.try_emplace(in, kNone);
    if (is_new) {
      const std::string_view name = raw_names_[static_cast<size_t>(in)];
      circles_.push_back(name);
      known->second = add_version(name, true);
    }
    in = known->second;
  }
}

// A file that is in order stays as it is: of all nodes that may come next, the first one does.
void FlowBuilder::sort_nodes() {
  const size_t count = flow_.nodes.size();
  std::vector<std::vector<size_t>> readers(count);
  std::vector<size_t> awaited(count, 0);
  for (size_t node = 0; node < count; ++node)
    for (const int32_t in : flow_.nodes[node].ins) {
      const size_t writer = in == kNone ? kNobody : writers_[static_cast<size_t>(in)];
      if (writer == kNobody) continue;
      readers[writer].push_back(node);
      ++awaited[node];
    }
  is_done_.assign(count, false);
  std::priority_queue<size_t, std::vector<size_t>, std::greater<>> ready;
  for (size_t node = 0; node < count; ++node)
    if (awaited[node] == 0) ready.push(node);
  std::vector<FlowNode> sorted;
  sorted.reserve(count);
  for (size_t first_left = 0; sorted.size() < count;) {
    if (ready.empty()) {
      while (is_done_[first_left]) ++first_left;
      break_circle(flow_.nodes[first_left]);
      ready.push(first_left);
    }
    const size_t node = ready.top();
    ready.pop();
    is_done_[node] = true;
    sorted.push_back(std::move(flow_.nodes[node]));
    for (const size_t reader : readers[node])
      if (!is_done_[reader] && --awaited[reader] == 0) ready.push(reader);
  }
  flow_.nodes = std::move(sorted);
}

// An output of the graph keeps the name of the file, unless an input has it; else the first tensor does.
void FlowBuilder::name_tensors() {
  std::vector<bool> is_input(raw_names_.size(), false);
  for (const int32_t id : flow_.inputs) is_input[static_cast<size_t>(id)] = true;
  for (const int32_t id : flow_.outputs)
    if (int32_t& keeper = states_[raw_names_[static_cast<size_t>(id)]].keeper;
        !is_input[static_cast<size_t>(keeper)])
      keeper = id;
  flow_.names.resize(raw_names_.size());
  UniqueNames unique;
  for (const bool keeps_name : {true, false})
    for (size_t id = 0; id < raw_names_.size(); ++id)
      if ((states_[raw_names_[id]].keeper == static_cast<int32_t>(id)) == keeps_name)
        flow_.names[id] = unique.claim(printable(raw_names_[id]));
}

void FlowBuilder::warn_of(std::span<const std::string_view> names, std::string_view what) {
  if (!names.empty())
    flow_.warnings.push_back(
        fmt::format("{}: {}; the first is '{}'", what, names.size(), printable(names.front())));
}

TensorFlow FlowBuilder::build() {
  for (const auto* list : {&topology_.weights, &topology_.caches})
    for (const std::string& name : *list) states_[name].is_given = true;
  for (size_t node = 0; node < ops_.size(); ++node)
    for (const std::string& name : topology_.ops[static_cast<size_t>(ops_[node])].out_tensors) {
      size_t& first = states_[name].first_writer;
      first = std::min(first, node);
    }
  for (const std::string& name : topology_.inputs)
    if (!name.empty() && states_[name].current == kNone) states_[name].current = add_version(name, true);
  add_nodes();
  add_outputs();
  sort_nodes();
  name_tensors();
  warn_of(undefined_, "tensors read and never written, shown as inputs");
  warn_of(circles_, "tensors that wait for each other in a circle, shown as inputs too");
  warn_of(unwritten_, "outputs that nothing writes");
  return std::move(flow_);
}

}  // namespace

TensorFlow follow_tensors(const AtbTopology& topology, std::span<const int32_t> ops) {
  return FlowBuilder(topology, ops).build();
}

}  // namespace assay

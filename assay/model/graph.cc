#include "assay/model/graph.h"

#include <algorithm>
#include <functional>
#include <limits>
#include <map>
#include <numeric>
#include <queue>
#include <utility>

namespace assay {

Graph::Graph(const std::shared_ptr<const Graph>& base)
    : name(base->name),
      ops(base->ops),
      fused(base->fused),
      shape(base->shape),
      fused_by_name_(base->fused_by_name_),
      kept_({base}) {}

int32_t Graph::add(GraphOp op) {
  const auto place = static_cast<int32_t>(ops.size());
  if (op.parent >= 0) ops[static_cast<size_t>(op.parent)].children.push_back(place);
  ops.push_back(std::move(op));
  return place;
}

void Graph::add_fused(const GraphOp& op) {
  GraphOp& own = fused.emplace_back(op);
  for (std::string_view* const text : {&own.name, &own.type, &own.path}) *text = strings.keep(*text);
  for (std::string_view& part : own.fused_from) part = strings.keep(part);
  for (GraphInput& input : own.inputs) input = {strings.keep(input.name), input.output};
  for (GraphOutput& output : own.outputs) {
    for (std::string_view* const text : {&output.name, &output.fx_name, &output.origin_name})
      *text = strings.keep(*text);
    output.value = -1;
  }
  own.params = {};
  fused_by_name_.insert_or_assign(own.name, static_cast<int32_t>(fused.size() - 1));
}

void Graph::index_names() {
  by_name_.clear();
  by_name_.reserve(ops.size());
  longest_name = 0;
  for (size_t i = 0; i < ops.size(); ++i) {
    by_name_.try_emplace(ops[i].name, static_cast<int32_t>(i));
    longest_name = std::max(longest_name, ops[i].name.size());
  }
}

int32_t Graph::add_value(int32_t producer, int output) {
  values.push_back({producer, output});
  return static_cast<int32_t>(values.size() - 1);
}

void Graph::take(int32_t op, GraphInput& input, int32_t value) {
  input.value = value;
  std::vector<int32_t>& consumers = values[static_cast<size_t>(value)].consumers;
  if (consumers.empty() || consumers.back() != op) consumers.push_back(op);
}

// Follows the execution, since graphs use their internal tensors again and again. A block gives what its
// children left under the name of its output.
void Graph::connect_by_names() {
  shape = GraphShape::tree;
  index_names();
  by_path_.clear();
  for (size_t i = 0; i < ops.size(); ++i) by_path_.try_emplace(ops[i].path, static_cast<int32_t>(i));
  values.clear();
  position.assign(ops.size(), -1);
  std::unordered_map<std::string_view, int32_t> current;
  int32_t finished = 0;
  struct Visit {
    int32_t op;
    bool is_done;
    int32_t first_inside;  // the first value that its children can have made
  };
  std::vector<Visit> waiting;
  const std::vector<int32_t> models = roots();
  for (auto root = models.rbegin(); root != models.rend(); ++root) waiting.push_back({*root, false, 0});
  while (!waiting.empty()) {
    const Visit visit = waiting.back();
    waiting.pop_back();
    GraphOp& op = ops[static_cast<size_t>(visit.op)];
    if (visit.is_done) {
      position[static_cast<size_t>(visit.op)] = finished++;
      for (size_t i = 0; i < op.outputs.size(); ++i) {
        GraphOutput& output = op.outputs[i];
        output.value = -1;
        if (output.name.empty()) continue;
        const auto made = current.find(output.name);
        const bool is_from_inside = made != current.end() && made->second >= visit.first_inside;
        output.value = is_from_inside ? made->second : add_value(visit.op, static_cast<int>(i));
        current[output.name] = output.value;
      }
      continue;
    }
    for (GraphInput& input : op.inputs) {
      input.value = -1;
      if (input.name.empty()) continue;
      const auto [known, is_new] = current.try_emplace(input.name, 0);
      if (is_new) known->second = add_value(-1, 0);
      take(visit.op, input, known->second);
    }
    waiting.push_back({visit.op, true, static_cast<int32_t>(values.size())});
    for (auto child = op.children.rbegin(); child != op.children.rend(); ++child)
      waiting.push_back({*child, false, 0});
  }
}

void Graph::connect_by_names_in_any_order(const std::unordered_set<std::string_view>& given) {
  shape = GraphShape::flat;
  index_names();
  values.clear();
  constexpr auto kNobody = std::numeric_limits<size_t>::max();
  struct State {
    int32_t current = -1;           // what a reader gets now
    int32_t promised = -1;          // read already, by an operator that stands before the one that writes it
    size_t first_writer = kNobody;  // of the operators
  };
  std::unordered_map<std::string_view, State> states;
  for (size_t i = 0; i < ops.size(); ++i)
    for (const GraphOutput& output : ops[i].outputs)
      if (State& state = states[output.name]; state.first_writer == kNobody) state.first_writer = i;
  for (size_t i = 0; i < ops.size(); ++i) {
    for (GraphInput& input : ops[i].inputs) {
      input.value = -1;
      if (input.name.empty()) continue;
      State& state = states[input.name];
      const bool is_written_later =
          state.first_writer != kNobody && state.first_writer > i && !given.contains(input.name);
      int32_t& value = state.current < 0 && is_written_later ? state.promised : state.current;
      if (value < 0) value = add_value(-1, 0);
      take(static_cast<int32_t>(i), input, value);
    }
    for (size_t k = 0; k < ops[i].outputs.size(); ++k) {
      GraphOutput& output = ops[i].outputs[k];
      output.value = -1;
      if (output.name.empty()) continue;
      State& state = states[output.name];
      state.current = state.promised >= 0 ? std::exchange(state.promised, -1) : add_value(-1, 0);
      output.value = state.current;
      GraphValue& value = values[static_cast<size_t>(output.value)];
      value.producer = static_cast<int32_t>(i);
      value.output = static_cast<int>(k);
    }
  }
  order_by_dependencies();
}

void Graph::connect_by_producers() {
  shape = GraphShape::flat;
  index_names();
  values.clear();
  for (size_t i = 0; i < ops.size(); ++i)
    for (size_t output = 0; output < ops[i].outputs.size(); ++output)
      ops[i].outputs[output].value = add_value(static_cast<int32_t>(i), static_cast<int>(output));
  // Outputs that their operator does not list, and those of operators that the graph does not have.
  std::map<std::pair<std::string_view, int>, int32_t> unlisted;
  for (size_t i = 0; i < ops.size(); ++i)
    for (GraphInput& input : ops[i].inputs) {
      input.value = -1;
      const int32_t producer = find(input.name);
      if (input.output < 0 || (producer < 0 && input.name.empty())) continue;
      const auto number = static_cast<size_t>(input.output);
      int32_t value = -1;
      if (producer >= 0 && number < at(producer).outputs.size()) {
        value = at(producer).outputs[number].value;
      } else {
        const auto [known, is_new] = unlisted.try_emplace({input.name, input.output}, 0);
        if (is_new) known->second = add_value(producer, input.output);
        value = known->second;
      }
      take(static_cast<int32_t>(i), input, value);
    }
  order_by_dependencies();
}

void Graph::connect_as_run() {
  shape = GraphShape::trace;
  values.clear();
  position.resize(ops.size());
  std::iota(position.begin(), position.end(), 0);
}

void Graph::order_by_dependencies() {
  std::vector<int32_t> missing(ops.size());  // producers that are not placed yet
  std::vector<std::vector<int32_t>> followers(ops.size());
  for (size_t i = 0; i < ops.size(); ++i)
    for (const GraphInput& input : ops[i].inputs) {
      const int32_t producer = input.output < 0 ? find(input.name) : producer_of(input.value);
      if (producer < 0) continue;
      followers[static_cast<size_t>(producer)].push_back(static_cast<int32_t>(i));
      ++missing[i];
    }
  // Of all that could run, the first of the file: an order that is already right stays as it is.
  std::priority_queue<int32_t, std::vector<int32_t>, std::greater<>> ready;
  for (size_t i = 0; i < ops.size(); ++i)
    if (missing[i] == 0) ready.push(static_cast<int32_t>(i));
  position.assign(ops.size(), -1);
  int32_t placed = 0;
  size_t next_in_file = 0;
  while (placed < static_cast<int32_t>(ops.size())) {
    if (ready.empty()) {  // a cycle: it is entered at its first operator
      while (position[next_in_file] >= 0) ++next_in_file;
      missing[next_in_file] = 0;
      ready.push(static_cast<int32_t>(next_in_file));
    }
    const auto op = static_cast<size_t>(ready.top());
    ready.pop();
    if (position[op] >= 0) continue;
    position[op] = placed++;
    for (const int32_t follower : followers[op])
      if (--missing[static_cast<size_t>(follower)] == 0) ready.push(follower);
  }
}

int32_t Graph::find(std::string_view op) const {
  const auto found = by_name_.find(op);
  return found == by_name_.end() ? kNone : found->second;
}

int32_t Graph::find_path(std::string_view path) const {
  const auto found = by_path_.find(path);
  return found == by_path_.end() ? kNone : found->second;
}

const GraphOp* Graph::find_fused(std::string_view op) const {
  if (const auto found = fused_by_name_.find(op); found != fused_by_name_.end())
    return &fused[static_cast<size_t>(found->second)];
  const int32_t own = find(op);
  return own >= 0 && at(own).fused_from.size() > 1 ? &at(own) : nullptr;
}

int32_t Graph::value_of(int32_t op, const Port& port) const {
  const auto pick = [&](const auto& tensors) {
    const auto index = static_cast<size_t>(port.index);
    return port.index < 0 || index >= tensors.size() ? -1 : tensors[index].value;
  };
  if (port.direction == Direction::input) return pick(at(op).inputs);
  return port.direction == Direction::output ? pick(at(op).outputs) : -1;
}

bool Graph::is_weight(int32_t op, const Port& port) const {
  const int32_t value = port.direction == Direction::input ? value_of(op, port) : kNone;
  return value != kNone && producer_of(value) == kNone &&
         at(op).inputs[static_cast<size_t>(port.index)].is_weight;
}

std::vector<int32_t> Graph::in_order() const {
  std::vector<int32_t> order(ops.size());
  for (size_t i = 0; i < order.size(); ++i) order[static_cast<size_t>(position[i])] = static_cast<int32_t>(i);
  return order;
}

std::vector<int32_t> Graph::roots() const {
  std::vector<int32_t> found;
  for (size_t i = 0; i < ops.size(); ++i)
    if (ops[i].parent < 0) found.push_back(static_cast<int32_t>(i));
  return found;
}

std::vector<int32_t> Graph::below(int32_t op) const {
  std::vector<int32_t> found, waiting(at(op).children.rbegin(), at(op).children.rend());
  while (!waiting.empty()) {
    const int32_t next = waiting.back();
    waiting.pop_back();
    found.push_back(next);
    waiting.insert(waiting.end(), at(next).children.rbegin(), at(next).children.rend());
  }
  return found;
}

std::vector<int32_t> Graph::leaves(int32_t op) const {
  std::vector<int32_t> found = below(op);
  std::erase_if(found, [&](int32_t each) { return !is_leaf(each); });
  return found;
}

std::optional<DType> find_ge_dtype(std::string_view name) {
  if (name.starts_with("DT_")) name.remove_prefix(3);
  return find_dtype(name);
}

}  // namespace assay

#include "assay/model/ge_origins.h"

#include <algorithm>
#include <unordered_map>
#include <utility>

namespace assay {
namespace {

constexpr size_t kLongestName = 4096;
// Bytes of names that are looked up for one name. The worst that the 255 bytes of a file name can ask for is
// a sixth of it.
constexpr size_t kMostWork = size_t{16} << 20;

std::string_view without_slice(std::string_view name) {
  const size_t mark = name.rfind("_lxslice");
  if (mark == std::string_view::npos || mark == 0) return name;
  const std::string_view number = name.substr(mark + 8);
  return number.find_first_not_of("0123456789") == std::string_view::npos ? name.substr(0, mark) : name;
}

// Longer names first, and back again where the rest does not come out even.
std::vector<const GeOp*> split_name(const GeGraph& graph, std::string_view name) {
  const size_t longest = graph.longest_name;
  struct Step {
    size_t begin, length;  // of the name tried here; those longer than it have failed
  };
  std::vector<Step> steps = {{0, std::min(longest, name.size()) + 1}};
  std::vector<bool> is_dead(name.size() + 1);
  std::vector<const GeOp*> ops;
  size_t work = 0;
  while (!steps.empty() && work < kMostWork) {
    Step& step = steps.back();
    const GeOp* found = nullptr;
    while (found == nullptr && step.length > 1) {
      --step.length;
      work += step.length;
      if (!is_dead[step.begin + step.length]) found = graph.find(name.substr(step.begin, step.length));
    }
    if (found == nullptr) {
      is_dead[step.begin] = true;
      steps.pop_back();
      if (!ops.empty()) ops.pop_back();
      continue;
    }
    ops.push_back(found);
    const size_t next = step.begin + step.length;
    if (next == name.size()) return ops;
    steps.push_back({next, std::min(longest, name.size() - next) + 1});
  }
  return {};
}

}  // namespace

std::vector<const GeOp*> origins_of(const GeGraph& graph, std::string_view op_name) {
  std::vector<const GeOp*> said;
  if (const GeOp* const fused = graph.find_fused(without_slice(op_name)))
    for (const std::string& name : fused->original_names)
      if (const GeOp* const original = graph.find(name)) said.push_back(original);
  if (said.size() < 2) return origins_by_name(graph, op_name);
  std::stable_sort(said.begin(), said.end(), [&](const GeOp* a, const GeOp* b) {
    return graph.position_of(*a) < graph.position_of(*b);
  });
  return said;
}

std::vector<const GeOp*> origins_by_name(const GeGraph& graph, std::string_view op_name) {
  op_name = without_slice(op_name);
  if (const GeOp* const op = graph.find(op_name)) return {op};
  return op_name.empty() || op_name.size() > kLongestName ? std::vector<const GeOp*>()
                                                          : split_name(graph, op_name);
}

const GeOp* last_of(const GeGraph& graph, const std::vector<const GeOp*>& origins) {
  const auto earlier = [&](const GeOp* a, const GeOp* b) {
    return graph.position_of(*a) < graph.position_of(*b);
  };
  const auto last = std::max_element(origins.begin(), origins.end(), earlier);
  return last == origins.end() ? nullptr : *last;
}

OutputOrigins::OutputOrigins(const GeGraph& graph, std::string_view op_name,
                             const std::vector<const GeOp*>& origins)
    : graph_(&graph), said_(graph.find_fused(without_slice(op_name))), last_(last_of(graph, origins)) {
  const auto says = [](const GeOutput& output) { return !output.origin_name.empty(); };
  if (said_ != nullptr && std::none_of(said_->outputs.begin(), said_->outputs.end(), says)) said_ = nullptr;
}

OutputOrigins::Origin OutputOrigins::of(int output) const {
  if (said_ == nullptr) return {last_, output};
  if (output < 0 || static_cast<size_t>(output) >= said_->outputs.size()) return {nullptr, 0};
  const GeOutput& named = said_->outputs[static_cast<size_t>(output)];
  return {graph_->find(named.origin_name), named.origin_index};
}

std::optional<int32_t> place_of(const GeGraph& graph, std::string_view op_name) {
  const GeOp* const last = last_of(graph, origins_of(graph, op_name));
  return last == nullptr ? std::nullopt : std::optional(graph.position_of(*last));
}

bool is_slice(std::string_view op_name) { return without_slice(op_name).size() != op_name.size(); }

std::vector<OuterInput> outer_inputs(const std::vector<const GeOp*>& fused) {
  std::unordered_map<std::string_view, bool> is_done;  // by operator; a name may repeat itself
  for (const GeOp* op : fused) is_done.emplace(op->name, false);
  std::vector<OuterInput> outer;
  for (const GeOp* op : fused) {
    if (std::exchange(is_done[op->name], true)) continue;
    size_t index = 0;
    for (const GeInput& input : op->inputs) {
      if (input.output < 0 || input.producer.empty()) continue;
      if (!is_done.contains(input.producer)) outer.push_back({op, index, &input});
      ++index;
    }
  }
  return outer;
}

}  // namespace assay

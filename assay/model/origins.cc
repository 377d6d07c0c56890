#include "assay/model/origins.h"

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
std::vector<int32_t> split_name(const Graph& graph, std::string_view name) {
  const size_t longest = graph.longest_name;
  struct Step {
    size_t begin, length;  // of the name tried here; those longer than it have failed
  };
  std::vector<Step> steps = {{0, std::min(longest, name.size()) + 1}};
  std::vector<bool> is_dead(name.size() + 1);
  std::vector<int32_t> ops;
  size_t work = 0;
  while (!steps.empty() && work < kMostWork) {
    Step& step = steps.back();
    int32_t found = -1;
    while (found < 0 && step.length > 1) {
      --step.length;
      work += step.length;
      if (!is_dead[step.begin + step.length]) found = graph.find(name.substr(step.begin, step.length));
    }
    if (found < 0) {
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

std::vector<int32_t> origins_of(const Graph& graph, std::string_view op_name) {
  std::vector<int32_t> said;
  if (const GraphOp* const fused = graph.find_fused(without_slice(op_name)))
    for (const std::string_view name : fused->fused_from)
      if (const int32_t original = graph.find(name); original >= 0) said.push_back(original);
  if (said.size() < 2) return origins_by_name(graph, op_name);
  std::ranges::stable_sort(said, {}, [&](int32_t op) { return graph.position[static_cast<size_t>(op)]; });
  return said;
}

std::vector<int32_t> origins_by_name(const Graph& graph, std::string_view op_name) {
  op_name = without_slice(op_name);
  if (const int32_t op = graph.find(op_name); op >= 0) return {op};
  return op_name.empty() || op_name.size() > kLongestName ? std::vector<int32_t>()
                                                          : split_name(graph, op_name);
}

int32_t last_of(const Graph& graph, std::span<const int32_t> origins) {
  const auto last = std::ranges::max_element(
      origins, {}, [&](int32_t op) { return graph.position[static_cast<size_t>(op)]; });
  return last == origins.end() ? -1 : *last;
}

std::optional<int32_t> place_of(const Graph& graph, std::span<const int32_t> origins) {
  const int32_t last = last_of(graph, origins);
  return last < 0 ? std::nullopt : std::optional(graph.position[static_cast<size_t>(last)]);
}

OutputOrigins::OutputOrigins(const Graph& graph, std::string_view op_name, std::span<const int32_t> origins)
    : graph_(&graph), said_(graph.find_fused(without_slice(op_name))), last_(last_of(graph, origins)) {
  const auto says = [](const GraphOutput& output) { return !output.origin_name.empty(); };
  if (said_ != nullptr && std::none_of(said_->outputs.begin(), said_->outputs.end(), says)) said_ = nullptr;
}

OutputOrigins::Origin OutputOrigins::of(int output) const {
  if (said_ == nullptr) return {last_, output};
  if (output < 0 || static_cast<size_t>(output) >= said_->outputs.size()) return {-1, 0};
  const GraphOutput& named = said_->outputs[static_cast<size_t>(output)];
  return {graph_->find(named.origin_name), named.origin_index};
}

bool is_slice(std::string_view op_name) { return without_slice(op_name).size() != op_name.size(); }

std::vector<OuterInput> outer_inputs(const Graph& graph, std::span<const int32_t> fused) {
  std::unordered_map<int32_t, bool> is_done;  // an operator may be listed twice
  for (const int32_t op : fused) is_done.emplace(op, false);
  std::vector<OuterInput> outer;
  for (const int32_t op : fused) {
    if (std::exchange(is_done[op], true)) continue;
    size_t index = 0;
    for (const GraphInput& input : graph.at(op).inputs) {
      if (input.output < 0 || input.name.empty()) continue;
      if (!is_done.contains(graph.producer_of(input.value))) outer.push_back({op, index, &input});
      ++index;
    }
  }
  return outer;
}

}  // namespace assay

#include "assay/model/ge_graph.h"

#include <algorithm>
#include <functional>
#include <queue>

namespace assay {

std::optional<DType> find_ge_dtype(std::string_view name) {
  if (name.starts_with("DT_")) name.remove_prefix(3);
  return find_dtype(name);
}

void GeGraph::finish() {
  by_name.clear();
  by_name.reserve(ops.size());
  for (size_t i = 0; i < ops.size(); ++i) {
    by_name.try_emplace(ops[i].name, static_cast<int32_t>(i));
    longest_name = std::max(longest_name, ops[i].name.size());
  }
  fused_by_name.clear();
  for (size_t i = 0; i < fused.size(); ++i)
    fused_by_name.insert_or_assign(fused[i].name, static_cast<int32_t>(i));
  std::vector<int32_t> missing(ops.size());  // producers that are not placed yet
  std::vector<std::vector<int32_t>> consumers(ops.size());
  for (size_t i = 0; i < ops.size(); ++i)
    for (const GeInput& input : ops[i].inputs) {
      const auto producer = by_name.find(input.producer);
      if (producer == by_name.end()) continue;
      consumers[static_cast<size_t>(producer->second)].push_back(static_cast<int32_t>(i));
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
    for (const int32_t consumer : consumers[op])
      if (--missing[static_cast<size_t>(consumer)] == 0) ready.push(consumer);
  }
}

const GeOp* GeGraph::find(std::string_view op) const {
  const auto found = by_name.find(op);
  return found == by_name.end() ? nullptr : &ops[static_cast<size_t>(found->second)];
}

const GeOp* GeGraph::find_fused(std::string_view op) const {
  if (const auto found = fused_by_name.find(op); found != fused_by_name.end())
    return &fused[static_cast<size_t>(found->second)];
  const GeOp* const own = find(op);
  return own != nullptr && own->original_names.size() > 1 ? own : nullptr;
}

}  // namespace assay

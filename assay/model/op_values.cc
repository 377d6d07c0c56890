#include "assay/model/op_values.h"

#include <unordered_map>

namespace assay {

// Follows the execution: a name stands for what was last written under it, since graphs use their internal
// tensors again and again. A block gives what its children left under the name of its output.
OpValues::OpValues(const OpTree& tree) : ops_(tree.ops.size()) {
  std::unordered_map<std::string_view, int32_t> current;
  const auto add = [&](int32_t op) {
    makers_.push_back(op);
    return static_cast<int32_t>(makers_.size() - 1);
  };
  struct Visit {
    int32_t op;
    bool is_done;
    int32_t first_inside;  // the first value that its children can have made
  };
  std::vector<Visit> waiting;
  const std::vector<int32_t> roots = tree.roots();
  for (auto root = roots.rbegin(); root != roots.rend(); ++root) waiting.push_back({*root, false, 0});
  while (!waiting.empty()) {
    const Visit visit = waiting.back();
    waiting.pop_back();
    const TreeOp& op = tree.at(visit.op);
    Ports& ports = ops_[static_cast<size_t>(visit.op)];
    if (visit.is_done) {
      for (const std::string_view name : op.outputs) {
        const auto made = current.find(name);
        const bool is_from_inside = made != current.end() && made->second >= visit.first_inside;
        const int32_t value = is_from_inside ? made->second : add(visit.op);
        current[name] = value;
        ports.outputs.push_back(value);
      }
      continue;
    }
    for (const std::string_view name : op.inputs) {
      const auto [known, is_new] = current.try_emplace(name, 0);
      if (is_new) known->second = add(kUnknown);
      ports.inputs.push_back(known->second);
    }
    waiting.push_back({visit.op, true, static_cast<int32_t>(makers_.size())});
    for (auto child = op.children.rbegin(); child != op.children.rend(); ++child)
      waiting.push_back({*child, false, 0});
  }
}

int32_t OpValues::of(int32_t op, const Port& port) const {
  const Ports& ports = ops_[static_cast<size_t>(op)];
  const std::vector<int32_t>& values = port.direction == Direction::input ? ports.inputs : ports.outputs;
  if (port.direction != Direction::input && port.direction != Direction::output) return kUnknown;
  const auto index = static_cast<size_t>(port.index);
  return port.index < 0 || index >= values.size() ? kUnknown : values[index];
}

}  // namespace assay

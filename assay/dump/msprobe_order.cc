// When entries were executed, where dump.json has them in another order.
#include "assay/dump/msprobe_parts.h"

namespace assay {
namespace {

// "Module.fc.Linear" of "Module.fc.Linear.parameters_grad.0" and "Module.fc.Linear.parameters_grad"; empty
// for other names.
std::string_view module_before(std::string_view name, std::string_view word) {
  const size_t last = name.rfind('.');
  if (last == std::string_view::npos) return {};
  if (name.substr(last + 1) == word) return name.substr(0, last);
  const std::string_view rest = name.substr(0, last);
  const size_t dot = rest.rfind('.');
  return dot != std::string_view::npos && rest.substr(dot + 1) == word ? rest.substr(0, dot)
                                                                       : std::string_view();
}

}  // namespace

void number_in_execution_order(Frame& frame) {
  std::vector<Node>& nodes = frame.nodes;
  std::unordered_map<std::string_view, size_t> last_backward;  // of each module
  std::vector<size_t> early;
  for (size_t i = 0; i < nodes.size(); ++i) {
    if (const auto module = module_before(nodes[i].name, "backward"); !module.empty())
      last_backward[module] = i;
    const auto module = module_before(nodes[i].name, "parameters_grad");
    if (!module.empty() && i > 0 && module_before(nodes[i - 1].name, "forward") == module) early.push_back(i);
  }
  if (early.empty()) return;
  // Behind everything, unless it is known better.
  std::vector<std::vector<size_t>> behind(nodes.size());
  std::vector<bool> moves(nodes.size(), false);
  for (const size_t i : early) {
    const auto backward = last_backward.find(module_before(nodes[i].name, "parameters_grad"));
    const size_t place = backward == last_backward.end() ? nodes.size() - 1 : backward->second;
    if (place <= i) continue;
    behind[place].push_back(i);
    moves[i] = true;
  }
  int64_t order = 0;
  for (size_t i = 0; i < nodes.size(); ++i) {
    if (!moves[i]) nodes[i].order = order++;
    for (const size_t moved : behind[i]) nodes[moved].order = order++;
  }
}

}  // namespace assay

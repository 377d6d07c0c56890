// When entries were executed, where dump.json has them in another order.
#include "assay/dump/msprobe_parts.h"

namespace assay {
namespace {

// "Module.fc.Linear" of "Module.fc.Linear.forward.0" and "Module.fc.Linear.parameters_grad"; empty for names
// that have another word at the end or before their number.
std::string_view module_before(std::string_view name, std::string_view word) {
  for (int i = 0; i < 2; ++i) {
    const size_t dot = name.rfind('.');
    if (dot == std::string_view::npos) return {};
    const bool is_it = name.substr(dot + 1) == word;
    name = name.substr(0, dot);
    if (is_it) return name;
  }
  return {};
}

}  // namespace

void number_in_execution_order(Frame& frame) {
  std::vector<Node>& nodes = frame.nodes;
  const auto is_early = [&](size_t i) {
    const std::string_view module = module_before(nodes[i].name, "parameters_grad");
    return !module.empty() && i > 0 && module_before(nodes[i - 1].name, "forward") == module;
  };
  int64_t first = 0, last = std::ssize(nodes) - 1;
  // Backward runs from the last module to the first.
  for (size_t i = 0; i < nodes.size(); ++i) nodes[i].order = is_early(i) ? last-- : first++;
}

}  // namespace assay

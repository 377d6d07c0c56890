#include "assay/model/trace.h"

#include <numeric>

namespace assay {

TraceBuilder::TraceBuilder(Frame& frame, OpKind (*kind)(const Node& node)) : frame_(frame), kind_(kind) {}

void TraceBuilder::set_parent(std::string_view node, std::string_view parent) {
  if (parents_.empty()) {
    parents_.resize(frame_.nodes.size(), Graph::kNone);
    places_.reserve(frame_.nodes.size());
    for (size_t i = 0; i < frame_.nodes.size(); ++i)
      places_.emplace(frame_.nodes[i].name, static_cast<int32_t>(i));
  }
  const auto found = places_.find(node);
  if (found == places_.end() || found->second >= std::ssize(parents_)) return;
  const auto place = static_cast<size_t>(found->second);
  const auto known = places_.find(parent);
  if (known != places_.end()) {
    parents_[place] = known->second;
    return;
  }
  parents_[place] = static_cast<int32_t>(parents_.size() + outside_.size());
  outside_.push_back(frame_.strings.keep(parent));
  places_.emplace(outside_.back(), parents_[place]);
}

void TraceBuilder::finish() {
  places_.clear();
  auto trace = std::make_shared<Graph>();
  trace->ops.reserve(frame_.nodes.size() + outside_.size());  // there may be millions
  for (const Node& node : frame_.nodes)
    trace->ops.push_back({.name = node.name, .type = node.type, .kind = kind_(node)});
  for (size_t i = 0; i < parents_.size(); ++i) trace->ops[i].parent = parents_[i];
  for (const std::string_view name : outside_) {
    Node node;
    node.name = name;
    trace->ops.push_back({.name = name, .type = {}, .kind = kind_(node)});
  }
  trace->connect_as_run();
  for (size_t i = 0; i < frame_.nodes.size(); ++i)
    trace->position[i] = static_cast<int32_t>(frame_.nodes[i].order);
  frame_.graph = std::move(trace);
  frame_.node_of_op.resize(frame_.nodes.size());
  std::iota(frame_.node_of_op.begin(), frame_.node_of_op.end(), 0);
}

}  // namespace assay

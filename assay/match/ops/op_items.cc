#include "assay/match/ops/op_items.h"

#include <algorithm>
#include <map>

namespace assay {

OpItems::OpItems(const PairingBuilder& builder, Side side)
    : builder_(builder), side_(side), frame_(builder.frames(side)[0]) {
  size_t position = 0;
  for (const Node& node : frame_.nodes) {
    begin_.push_back(position);
    position += node.items.size();
  }
}

const Node* OpItems::node_of(int32_t op) const {
  const int32_t node = frame_.node_of(op);
  return node < 0 ? nullptr : &frame_.nodes[static_cast<size_t>(node)];
}

std::optional<size_t> OpItems::find(int32_t op, Direction direction, int index) const {
  const Node* const node = node_of(op);
  if (node == nullptr) return std::nullopt;
  const size_t begin = begin_[static_cast<size_t>(frame_.node_of(op))];
  const Phase other_phase = direction == Direction::input ? Phase::after : Phase::before;
  std::optional<size_t> found;
  for (size_t i = 0; i < node->items.size(); ++i) {
    const Item& item = node->items[i];
    if (item.port.direction != direction || item.port.index != index) continue;
    if (item.port.phase != other_phase) return begin + i;
    if (!found) found = begin + i;
  }
  return found;
}

std::vector<size_t> OpItems::all(int32_t op, Direction direction) const {
  std::vector<size_t> found;
  const Node* const node = node_of(op);
  if (node == nullptr) return found;
  std::vector<int> indices;
  for (const Item& item : node->items)
    if (item.port.direction == direction) indices.push_back(item.port.index);
  std::sort(indices.begin(), indices.end());
  indices.erase(std::unique(indices.begin(), indices.end()), indices.end());
  for (const int index : indices) found.push_back(*find(op, direction, index));
  return found;
}

std::vector<size_t> OpItems::every(int32_t op, Direction direction) const {
  std::vector<size_t> found;
  const Node* const node = node_of(op);
  if (node == nullptr) return found;
  const size_t begin = begin_[static_cast<size_t>(frame_.node_of(op))];
  for (size_t i = 0; i < node->items.size(); ++i)
    if (node->items[i].port.direction == direction) found.push_back(begin + i);
  return found;
}

}  // namespace assay

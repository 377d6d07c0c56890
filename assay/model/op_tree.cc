#include "assay/model/op_tree.h"

#include <algorithm>

namespace assay {

int32_t OpTree::add(TreeOp op) {
  const auto place = static_cast<int32_t>(ops.size());
  if (op.parent >= 0) ops[static_cast<size_t>(op.parent)].children.push_back(place);
  ops.push_back(std::move(op));
  return place;
}

std::vector<int32_t> OpTree::roots() const {
  std::vector<int32_t> found;
  for (size_t i = 0; i < ops.size(); ++i)
    if (ops[i].parent < 0) found.push_back(static_cast<int32_t>(i));
  return found;
}

std::vector<int32_t> OpTree::below(int32_t op) const {
  std::vector<int32_t> found, waiting(at(op).children.rbegin(), at(op).children.rend());
  while (!waiting.empty()) {
    const int32_t next = waiting.back();
    waiting.pop_back();
    found.push_back(next);
    waiting.insert(waiting.end(), at(next).children.rbegin(), at(next).children.rend());
  }
  return found;
}

std::vector<int32_t> OpTree::leaves(int32_t op) const {
  std::vector<int32_t> found = below(op);
  std::erase_if(found, [&](int32_t each) { return !is_leaf(each); });
  return found;
}

}  // namespace assay

#include "assay/model/plan.h"

#include <algorithm>
#include <limits>

namespace assay {

bool turns_elements(std::span<const PlanStep> steps) {
  const auto is_turned = [](const PlanStep& step) {
    if (step.op != PlanOp::view) return false;
    const size_t dims = step.args.size() / 2;  // behind the first element, dimensions and then strides
    int64_t before = std::numeric_limits<int64_t>::max();
    for (size_t i = 0; i < dims; ++i) {
      if (step.args[1 + i] == 1) continue;
      const int64_t stride = step.args[1 + dims + i];
      if (stride > before) return true;
      before = stride;
    }
    return false;
  };
  return std::ranges::any_of(steps, is_turned);
}

const PlanStep* Plan::find_last(PlanOp op) const {
  const auto found =
      std::find_if(steps.rbegin(), steps.rend(), [&](const PlanStep& s) { return s.op == op; });
  return found == steps.rend() ? nullptr : &*found;
}

std::vector<PlanSource> Plan::parts() const {
  std::vector<PlanSource> parts;
  const PlanStep* const joined = find_last(PlanOp::join);
  if (joined == nullptr) return parts;
  for (const int32_t operand : joined->in) {
    if (static_cast<size_t>(operand) >= from.size()) return {};
    parts.push_back(from[static_cast<size_t>(operand)]);
  }
  return parts;
}

void Plan::add(PlanOp op, std::vector<int64_t> args) { steps.push_back({op, {last()}, std::move(args)}); }

void Plan::add_with(PlanOp op, const std::vector<PlanSource>& more, std::vector<int64_t> args) {
  // Sources come first: the results of earlier steps move behind the new ones.
  const auto known = static_cast<int32_t>(from.size()), added = static_cast<int32_t>(more.size());
  for (PlanStep& step : steps)
    for (int32_t& operand : step.in)
      if (operand >= known) operand += added;
  PlanStep step{op, {last() + (steps.empty() ? 0 : added)}, std::move(args)};
  for (int32_t i = 0; i < added; ++i) step.in.push_back(known + i);
  from.insert(from.end(), more.begin(), more.end());
  steps.push_back(std::move(step));
}

void Plan::cut_in_pieces(int64_t dimension, const std::vector<int64_t>& widths) {
  const int32_t whole = last();
  PlanStep joined{PlanOp::join, {}, {dimension}};
  int64_t first = 0;
  for (const int64_t width : widths) {
    steps.push_back({PlanOp::cut, {whole}, {dimension, first, width}});
    joined.in.push_back(last());
    first += width;
  }
  steps.push_back(std::move(joined));
}

Plan joined_from(Side side, const std::vector<ItemId>& parts, int64_t dimension) {
  Plan plan;
  PlanStep step{PlanOp::join, {}, {dimension}};
  for (const ItemId& part : parts) {
    step.in.push_back(static_cast<int32_t>(plan.from.size()));
    plan.from.push_back({side, part});
  }
  plan.steps.push_back(std::move(step));
  return plan;
}

Plan as_it_stands(Side side, const ItemId& item) { return {{{side, item}}, {}, {}}; }

bool PairPlans::may_not_fit() const {
  return is_guess ||
         std::ranges::any_of(std::initializer_list<const Plan*>{&mine, &golden}, [](const Plan* plan) {
           return plan->has(PlanOp::weight) || plan->has(PlanOp::angles);
         });
}

}  // namespace assay

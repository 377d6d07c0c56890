#include "assay/run/compare/row_facts.h"

#include "assay/format/min_max.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <limits>

namespace assay {

double relative_error(std::span<const std::string> columns, const Comparison& row) {
  const auto index = static_cast<size_t>(std::ranges::find(columns, "rel_l2") - columns.begin());
  const auto* const value = index < row.metrics.size() ? std::get_if<double>(&row.metrics[index]) : nullptr;
  return value != nullptr ? *value : std::numeric_limits<double>::quiet_NaN();
}

std::string why_no_data(const Item& item) {
  if (item.facts == nullptr) return {};
  for (const Fact& fact : *item.facts)
    if (const auto* const why = std::get_if<std::string>(&fact.value);
        fact.key == "no_data" && why != nullptr)
      return fmt::format(": {}", *why);
  return {};
}

bool is_range(const Comparison& row) {
  return std::ranges::any_of(std::array{&row.mine, &row.golden}, [](const SideFacts* side) {
    const std::string& file = side->file.native();
    return (file.ends_with(kMinMaxNpz) || file.ends_with(kMinMaxNpy)) && side->meta &&
           side->meta->shape.count() == 2;
  });
}

bool is_put_together(const Plan& plan) { return !plan.parts().empty() || plan.has(PlanOp::experts); }

std::string what_was_taken(const Plan& plan, std::string_view side) {
  if (const size_t parts = plan.parts().size(); parts > 0)
    return fmt::format("{} tensors of {} joined", parts, side);
  if (const PlanStep* const experts = plan.find_last(PlanOp::experts))
    return fmt::format("the rows of {} experts of {}", experts->args[0], side);
  const PlanStep* const part = plan.find_last(PlanOp::part);
  if (part == nullptr || plan.has(PlanOp::join)) return {};
  return fmt::format("part {} of {} of {}", part->args[0] + 1, part->args.size() - 4, side);
}

void describe_joined(const OperandPtr& joined, SideFacts& side) {
  TensorMeta meta = joined->meta;
  const size_t dims = side.meta ? side.meta->shape.dims.size() : 0;
  while (meta.shape.dims.size() < dims) meta.shape.dims.insert(meta.shape.dims.begin(), 1);
  side.meta = RowMeta(std::move(meta));
}

}  // namespace assay

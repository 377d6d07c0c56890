#include "assay/match/ops/quantised.h"

#include <cmath>

namespace assay {
namespace {

// One number, or one for each channel.
bool is_factor(const Item* item, int64_t channels) {
  if (item == nullptr || item->meta == nullptr || !item->data) return false;
  const int64_t count = item->meta->shape.count();
  return count == 1 || count == channels;
}

}  // namespace

QuantSources::QuantSources(const Frame& frame, int32_t number)
    : frame_(frame), number_(number), tree_(frame.tree()) {}

const Item* QuantSources::input(int32_t op, int index) const {
  const int32_t node = frame_.node_of(op);
  const Item* found = nullptr;
  if (node < 0) return found;
  for (const Item& item : frame_.nodes[static_cast<size_t>(node)].items) {
    if (item.port.direction != Direction::input || item.port.index != index) continue;
    if (item.port.phase != Phase::after) return &item;
    found = &item;
  }
  return found;
}

ItemId QuantSources::id_of(const Item& item, int32_t op) const {
  const int32_t node = frame_.node_of(op);
  const auto& items = frame_.nodes[static_cast<size_t>(node)].items;
  return {number_, node, static_cast<int32_t>(&item - items.data())};
}

std::optional<QuantFactors> QuantSources::find(const ItemId& quantised) const {
  const Item& item =
      frame_.nodes[static_cast<size_t>(quantised.node)].items[static_cast<size_t>(quantised.item)];
  const std::span<const int32_t> ops = frame_.ops_of(static_cast<size_t>(quantised.node));
  if (tree_.ops.empty() || ops.empty() || item.meta == nullptr) return std::nullopt;
  int32_t op = ops.front();
  if (const int32_t value = tree_.value_of(op, item.port); value != Graph::kNone)
    op = tree_.producer_of(value);
  else if (item.port.direction != Direction::output)
    return std::nullopt;
  if (op < 0) return std::nullopt;
  const int64_t channels = item.meta->shape.dims.empty() ? 1 : item.meta->shape.dims.back();

  // The scale stands in front of the offset, which is an integer; a norm that quantises has its own weights
  // in front of both.
  constexpr int kMostInputs = 16;
  for (int index = 2; index < kMostInputs; ++index) {
    const Item *const scale = input(op, index - 1), *const offset = input(op, index);
    if (is_factor(scale, channels) && is_factor(offset, channels) && is_real(scale->meta->dtype) &&
        offset->meta->dtype == DType::i8)
      return QuantFactors{id_of(*scale, op), id_of(*offset, op)};
  }
  // An operator that does nothing but quantise cannot have anything else, whatever the types.
  if (const auto& step = tree_.at(op).quant_step; step && tree_.at(op).elewise_type == atb_elewise::kQuantise)
    return step->scale != 0 && std::isfinite(step->scale) && std::isfinite(step->offset)
               ? std::optional(QuantFactors{std::nullopt, std::nullopt, *step})
               : std::nullopt;
  if (tree_.at(op).elewise_type != atb_elewise::kQuantisePerChannel) return std::nullopt;
  const Item *const scale = input(op, 1), *const offset = input(op, 2);
  if (!is_factor(scale, channels) || !is_real(scale->meta->dtype)) return std::nullopt;
  QuantFactors factors{id_of(*scale, op), std::nullopt};
  if (offset != nullptr) {
    if (!is_factor(offset, channels)) return std::nullopt;
    factors.offset = id_of(*offset, op);
  }
  return factors;
}

Dequantiser::Dequantiser(const Indexed& frames) : frames_(frames) {
  for (const Frame& frame : frames.mine) mine_.emplace_back(frame, static_cast<int32_t>(mine_.size()));
  for (const Frame& frame : frames.golden) golden_.emplace_back(frame, static_cast<int32_t>(golden_.size()));
}

void Dequantiser::plan(const ItemId& mine, const ItemId& golden, PairPlans& plans) const {
  const Item &of_mine = frames_.item(Side::mine, mine), &of_golden = frames_.item(Side::golden, golden);
  const bool of_other_ranks = of_mine.shards().size() != of_golden.shards().size();
  const auto is_int8 = [](const Item& item) { return item.meta != nullptr && item.meta->dtype == DType::i8; };
  // A type that is not known yet is taken for a real one; whoever measures the pair sees it.
  const auto is_asked_for = [&](const Item& item, const Item& other) {
    return is_int8(item) &&
           (other.meta == nullptr || is_real(other.meta->dtype) || (is_int8(other) && of_other_ranks));
  };
  const bool asks_mine = is_asked_for(of_mine, of_golden), asks_golden = is_asked_for(of_golden, of_mine);
  const auto by_mine = asks_mine ? mine_[static_cast<size_t>(mine.frame)].find(mine) : std::nullopt;
  const auto by_golden = asks_golden ? golden_[static_cast<size_t>(golden.frame)].find(golden) : std::nullopt;
  // One of two int8 tensors made real alone would be held against numbers of another kind.
  if (asks_mine && asks_golden && (!by_mine || !by_golden)) return;
  if (by_mine) plan(Side::mine, mine, *by_mine, plans);
  if (by_golden) plan(Side::golden, golden, *by_golden, plans);
}

void Dequantiser::plan(Side side, const ItemId& id, const QuantFactors& factors, PairPlans& plans) const {
  Plan& plan = plans.of(side);
  if (plan.is_empty()) plan = as_it_stands(side, id);
  if (factors.stated) {
    plan.add(PlanOp::dequantise);
    plan.steps.back().numbers = {factors.stated->scale, factors.stated->offset};
    return;
  }
  std::vector<PlanSource> tensors = {{side, *factors.scale}};
  if (factors.offset) tensors.push_back({side, *factors.offset});
  plan.add_with(PlanOp::dequantise, tensors);
}

}  // namespace assay

#include "assay/run/compare/dequantise.h"

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
  constexpr int kQuantise = 6, kQuantisePerChannel = 17;
  if (const auto& step = tree_.at(op).quant_step; step && tree_.at(op).elewise_type == kQuantise)
    return step->scale != 0 && std::isfinite(step->scale) && std::isfinite(step->offset)
               ? std::optional(QuantFactors{std::nullopt, std::nullopt, *step})
               : std::nullopt;
  if (tree_.at(op).elewise_type != kQuantisePerChannel) return std::nullopt;
  const Item *const scale = input(op, 1), *const offset = input(op, 2);
  if (!is_factor(scale, channels) || !is_real(scale->meta->dtype)) return std::nullopt;
  QuantFactors factors{id_of(*scale, op), std::nullopt};
  if (offset != nullptr) {
    if (!is_factor(offset, channels)) return std::nullopt;
    factors.offset = id_of(*offset, op);
  }
  return factors;
}

std::optional<Side> side_to_dequantise(const Pairing& pairing, const TensorMeta& mine,
                                       const TensorMeta& golden) {
  if (!pairing.dequantises) return std::nullopt;
  if (mine.dtype == DType::i8 && is_real(golden.dtype)) return Side::mine;
  if (golden.dtype == DType::i8 && is_real(mine.dtype)) return Side::golden;
  return std::nullopt;
}

void refuse_int8(Comparison& row, std::string_view why) {
  row.status = Status::no_data;
  row.is_excused = true;
  const DType mine = row.mine.meta->dtype, golden = row.golden.meta->dtype;
  row.note = fmt::format("int8 against {}: {}", name(mine == DType::i8 ? golden : mine), why);
}

}  // namespace assay

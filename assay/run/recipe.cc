#include "assay/run/recipe.h"

#include "assay/metric/numpy_stats.h"
#include "assay/run/rope.h"
#include "assay/tensor/affine.h"
#include "assay/tensor/dequantized.h"

namespace assay {

RecipeBook::RecipeBook(const Matched& matched, Loader& loader) : matched_(matched), loader_(loader) {
  if (!matched.pairing.dequantises) return;
  for (const Side side : {Side::mine, Side::golden}) {
    auto& sources = side == Side::mine ? quantised_mine_ : quantised_golden_;
    for (const Frame& frame : matched.frames.frames(side))
      sources.emplace_back(frame, static_cast<int32_t>(sources.size()));
  }
}

Result<OperandPtr> RecipeBook::prepare(Side side, const Recipe& recipe, OperandPtr loaded) {
  if (recipe.rope) {
    ASSAY_TRY(loaded, angles(side, *recipe.rope, std::move(loaded)));
  }
  if (side == Side::mine && recipe.quantised) {
    ASSAY_TRY(loaded, weight(*recipe.quantised, std::move(loaded)));
  }
  return loaded;
}

Result<std::optional<OperandPtr>> RecipeBook::join(const Recipe& recipe, int64_t ranks) {
  std::vector<OperandPtr> parts;
  for (const ItemId& id : recipe.parts) {
    if (!matched_.item(recipe.parts_of, id).data) return std::optional<OperandPtr>();
    ASSAY_TRY(Loaded part, loader_.load(recipe.parts_of, id));
    parts.push_back(std::move(part.data));
  }
  return join_parts(std::move(parts), ranks);
}

Result<Spread> RecipeBook::dequantise(Side side, const ItemId& id, const Spread& quantised) {
  const auto& sources = side == Side::mine ? quantised_mine_ : quantised_golden_;
  const auto factors = sources[static_cast<size_t>(id.frame)].find(id);
  if (!factors)
    return fail(ErrorKind::not_found, "the dump holds no scale and offset of {}",
                matched_.item(side, id).name);
  const auto load = [&](const std::optional<ItemId>& factor) -> Result<OperandPtr> {
    if (!factor) return OperandPtr();
    ASSAY_TRY(Loaded loaded, loader_.load(side, *factor));
    return loaded.data;
  };
  ASSAY_TRY(const OperandPtr scale, load(factors->scale));
  ASSAY_TRY(const OperandPtr offset, load(factors->offset));
  Spread real{nullptr, quantised.ranks, {}};
  ASSAY_TRY(real.own, dequantized(quantised.own, scale, offset));
  real.shards = [this, side, id, factors]() -> Result<std::vector<OperandPtr>> {
    ASSAY_TRY(std::vector<OperandPtr> shards, loader_.load_shards(side, id));
    ASSAY_TRY(const std::vector<OperandPtr> scales, loader_.load_shards(side, factors->scale));
    std::vector<OperandPtr> offsets;
    if (factors->offset) {
      ASSAY_TRY(offsets, loader_.load_shards(side, *factors->offset));
    }
    if (scales.size() != shards.size() || (factors->offset && offsets.size() != shards.size()))
      return fail(ErrorKind::not_found, "not every rank holds the scale and offset of {}",
                  matched_.item(side, id).name);
    for (size_t i = 0; i < shards.size(); ++i) {
      ASSAY_TRY(shards[i], dequantized(shards[i], scales[i], offsets.empty() ? nullptr : offsets[i]));
    }
    return shards;
  };
  return real;
}

Result<OperandPtr> RecipeBook::weight(const QuantisedBy& by, OperandPtr quantised) {
  OperandPtr factors[2];
  const ItemId ids[] = {by.offset, by.scale};
  for (size_t i = 0; i < 2; ++i) {
    ASSAY_TRY(const Loaded loaded, loader_.load(Side::mine, ids[i]));
    ASSAY_TRY(const auto view, broadcast_to(loaded.data, quantised->meta.shape));
    if (!view)
      return fail(ErrorKind::mismatch, "{} of shape {} does not fit weights of shape {}",
                  matched_.item(Side::mine, ids[i]).name, loaded.data->meta.shape.text(),
                  quantised->meta.shape.text());
    factors[i] = *view;
  }
  return affine(std::move(quantised), std::move(factors[0]), std::move(factors[1]));
}

Result<OperandPtr> RecipeBook::angles(Side side, const RopeRow& rope, OperandPtr data) {
  if (side == Side::mine) return without_repeated_columns(std::move(data));
  ASSAY_TRY(const Loaded length, loader_.load(Side::mine, rope.length));
  if (length.data->meta.shape.count() != 1) return data;  // of several sequences
  ASSAY_TRY(const OneSide value, gather_one(*length.data));
  constexpr double kLongest = 1e15;  // exact as a double
  if (!(value.min >= 1 && value.min <= kLongest)) return data;
  return row_of_angles(std::move(data), static_cast<int64_t>(value.min),
                       rope.is_sine ? Angles::sines : Angles::cosines);
}

}  // namespace assay

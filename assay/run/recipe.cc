#include "assay/run/recipe.h"

#include "assay/metric/numpy_stats.h"
#include "assay/run/rope.h"
#include "assay/tensor/affine.h"
#include "assay/tensor/dense.h"
#include "assay/tensor/dequantized.h"

#include <cmath>

namespace assay {
namespace {

// Two elements, of the same type. As numpy has it, NaN is both.
Result<OperandPtr> range_of(const Operand& data) {
  ASSAY_TRY(const OneSide sums, gather_one(data));
  double range[] = {sums.min, sums.max};
  if (sums.minus_infs > 0) range[0] = -INFINITY;
  if (sums.infs > sums.minus_infs) range[1] = INFINITY;
  if (sums.finite == 0 && sums.infs > 0) range[0] = sums.minus_infs > 0 ? -INFINITY : INFINITY;
  if (sums.finite == 0 && sums.infs > 0) range[1] = sums.infs > sums.minus_infs ? INFINITY : -INFINITY;
  if (sums.nans > 0 || sums.count == 0) range[0] = range[1] = NAN;
  const DType dtype = is_real(data.meta.dtype) || sums.count > 0 ? data.meta.dtype : DType::f64;
  std::vector<std::byte> bytes(static_cast<size_t>(2 * size_of(dtype)));
  from_f64(dtype, range, 2, bytes.data());
  return dense_in_memory(std::move(bytes), TensorMeta{dtype, Shape{{2}}});
}

}  // namespace

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
  if (recipe.range_of == side) return range_of(*loaded);
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

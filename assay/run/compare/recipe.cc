#include "assay/run/compare/recipe.h"

#include "assay/run/compare/rope.h"
#include "assay/tensor/affine.h"
#include "assay/tensor/dense.h"
#include "assay/tensor/dequantized.h"
#include "assay/tensor/extremes.h"

#include <cmath>
#include <cstring>

namespace assay {
namespace {

// Two elements, of the same type. Of nothing, as numpy has it, NaN; where the type has none, in f64.
Result<OperandPtr> range_of(const Operand& data) {
  ASSAY_TRY(const Extremes found, gather_extremes(data));
  const DType dtype = is_real(found.dtype) || !found.is_empty ? found.dtype : DType::f64;
  const auto size = static_cast<size_t>(size_of(dtype));
  std::vector<std::byte> bytes(2 * size);
  if (found.is_empty) {
    const double nothing[] = {NAN, NAN};
    from_f64(dtype, nothing, 2, bytes.data());
  } else {
    std::memcpy(bytes.data(), found.min.data(), size);
    std::memcpy(bytes.data() + size, found.max.data(), size);
  }
  return dense_in_memory(std::move(bytes), TensorMeta{dtype, Shape{{2}}});
}

OperandPtr one_number(double value) {
  std::vector<std::byte> bytes(sizeof(value));
  std::memcpy(bytes.data(), &value, sizeof(value));
  return dense_in_memory(std::move(bytes), TensorMeta{DType::f64, Shape{{1}}});
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

Result<std::optional<std::vector<OperandPtr>>> RecipeBook::load_parts(const Recipe& recipe) {
  std::vector<OperandPtr> parts;
  for (const ItemId& id : recipe.parts) {
    if (!matched_.item(recipe.parts_of, id).data) return std::optional<std::vector<OperandPtr>>();
    ASSAY_TRY(Loaded part, loader_.load(recipe.parts_of, id));
    parts.push_back(std::move(part.data));
  }
  return std::optional(std::move(parts));
}

Result<std::optional<OperandPtr>> RecipeBook::join(const Recipe& recipe, int64_t ranks) {
  ASSAY_TRY(auto parts, load_parts(recipe));
  if (!parts) return std::optional<OperandPtr>();
  return join_parts(std::move(*parts), ranks);
}

Result<std::optional<Aligned>> RecipeBook::align(const Pair& pair, const Spread& mine, const Spread& golden,
                                                 const AlignRules& rules) {
  if (pair.recipe != nullptr && pair.recipe->weight) return align_shares(*pair.recipe, mine, golden);
  if (pair.has_parts()) return align_parts(*pair.recipe, mine, golden, rules);
  ASSAY_TRY(auto done, assay::align(mine, golden, rules));
  const bool is_angles = pair.recipe != nullptr && pair.recipe->rope && pair.recipe->rope->rows > 0;
  if (done || !is_angles) return done;
  // ATB may hold every angle twice, for the two numbers that it turns.
  const bool of_mine = pair.recipe->rope->table_of != Side::mine;
  Spread halved{nullptr, 1, {}};
  ASSAY_TRY(halved.own, without_repeated_columns(of_mine ? mine.own : golden.own));
  return of_mine ? assay::align(halved, golden, rules) : assay::align(mine, halved, rules);
}

Result<std::optional<Aligned>> RecipeBook::align_shares(const Recipe& recipe, const Spread& mine,
                                                        const Spread& golden) {
  const bool of_mine = recipe.parts_of == Side::mine;
  std::optional<std::vector<OperandPtr>> whole;
  if (recipe.parts.empty()) {
    ASSAY_TRY(whole, cut_weight((of_mine ? mine : golden).own, *recipe.weight));
  } else {
    ASSAY_TRY(whole, load_parts(recipe));
  }
  if (!whole) return std::optional<Aligned>();
  ASSAY_TRY(auto done,
            align_weight(*whole, of_mine ? "mine" : "golden", of_mine ? golden : mine, *recipe.weight));
  if (!done) return std::optional<Aligned>();
  if (of_mine) std::swap(done->whole, done->spread);
  return std::optional(Aligned{std::move(done->spread), std::move(done->whole), std::move(done->note)});
}

Result<std::optional<Aligned>> RecipeBook::align_parts(const Recipe& recipe, const Spread& mine,
                                                       const Spread& golden, const AlignRules& rules) {
  const bool of_mine = recipe.parts_of == Side::mine;
  const auto other_ranks = static_cast<int64_t>((of_mine ? golden : mine).ranks);
  for (const int64_t ranks : {other_ranks, int64_t{1}}) {
    ASSAY_TRY(const auto whole, join(recipe, ranks));
    if (!whole) continue;
    const Spread joined{*whole, 1, {}};
    ASSAY_TRY(auto done, of_mine ? assay::align(joined, golden, rules) : assay::align(mine, joined, rules));
    if (done || ranks == 1) return done;
  }
  return std::optional<Aligned>();
}

Result<Spread> RecipeBook::dequantise(Side side, const ItemId& id, const Spread& quantised) {
  const auto& sources = side == Side::mine ? quantised_mine_ : quantised_golden_;
  const auto factors = sources[static_cast<size_t>(id.frame)].find(id);
  if (!factors)
    return fail(ErrorKind::not_found, "the dump holds no scale and offset of {}",
                matched_.item(side, id).name);
  Spread real{nullptr, quantised.ranks, {}};
  if (factors->stated) {
    const OperandPtr scale = one_number(1 / factors->stated->scale),
                     offset = one_number(factors->stated->offset);
    ASSAY_TRY(real.own, dequantized(quantised.own, scale, offset));
    real.shards = [this, side, id, scale, offset]() -> Result<std::vector<OperandPtr>> {
      ASSAY_TRY(std::vector<OperandPtr> shards, loader_.load_shards(side, id));
      for (OperandPtr& shard : shards) {
        ASSAY_TRY(shard, dequantized(shard, scale, offset));
      }
      return shards;
    };
    return real;
  }
  const auto load = [&](const std::optional<ItemId>& factor) -> Result<OperandPtr> {
    if (!factor) return OperandPtr();
    ASSAY_TRY(Loaded loaded, loader_.load(side, *factor));
    return loaded.data;
  };
  ASSAY_TRY(const OperandPtr scale, load(factors->scale));
  ASSAY_TRY(const OperandPtr offset, load(factors->offset));
  ASSAY_TRY(real.own, dequantized(quantised.own, scale, offset));
  real.shards = [this, side, id, factors]() -> Result<std::vector<OperandPtr>> {
    ASSAY_TRY(std::vector<OperandPtr> shards, loader_.load_shards(side, id));
    ASSAY_TRY(const std::vector<OperandPtr> scales, loader_.load_shards(side, *factors->scale));
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

Result<std::vector<int64_t>> RecipeBook::lengths(Side side, const ItemId& id) {
  constexpr int64_t kMostSequences = 1024;
  constexpr double kLongest = 1e15;  // exact as a double
  ASSAY_TRY(const Loaded loaded, loader_.load(side, id));
  const TensorMeta& meta = loaded.data->meta;
  const int64_t count = meta.shape.count();
  std::vector<int64_t> lengths;
  if (count > kMostSequences || is_complex(meta.dtype)) return lengths;
  ASSAY_TRY(const std::vector<std::byte> bytes, read_whole(*loaded.data, count * size_of(meta.dtype)));
  std::vector<double> values(static_cast<size_t>(count));
  to_f64(meta.dtype, bytes.data(), count, values.data());
  for (const double value : values) {
    if (!(value >= 1 && value <= kLongest)) return std::vector<int64_t>();
    lengths.push_back(static_cast<int64_t>(value));
  }
  return lengths;
}

Result<OperandPtr> RecipeBook::angles(Side side, const RopeRow& rope, OperandPtr data) {
  const Angles which = rope.is_sine ? Angles::sines : Angles::cosines;
  const bool as_msit = rope.rows == 0;
  if (side != rope.table_of) {
    const std::vector<int64_t>& dims = data->meta.shape.dims;
    const bool is_one_row = dims.size() == 2 && dims[0] == 1;
    return as_msit && is_one_row ? without_repeated_columns(std::move(data)) : std::move(data);
  }
  const Side other = side == Side::mine ? Side::golden : Side::mine;
  ASSAY_TRY(const std::vector<int64_t> seen, lengths(other, rope.length));
  if (!as_msit) return rows_of_angles(std::move(data), seen, rope.rows, which);
  if (seen.size() != 1) return data;  // of several sequences
  return row_of_angles(std::move(data), seen[0], which);
}

}  // namespace assay

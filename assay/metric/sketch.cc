#include "assay/metric/sketch.h"

#include "assay/base/cancel.h"
#include "assay/metric/sketch_signs.h"
#include "assay/metric/tile_sketch.h"

#include <algorithm>

namespace assay {
namespace {

using tile::kTile;
constexpr size_t kGroup = kSignGroup;
static_assert(static_cast<int64_t>(Sketch::kLanes) == tile::kSketchLanes);

// `first`: which element of the tensor x[0] is; a multiple of the lanes. x has room for whole lanes.
void add_to_sketch(double* x, int64_t n, int64_t first, Sketch& out) {
  const auto lanes = static_cast<int64_t>(Sketch::kLanes);
  const int64_t whole = (n + lanes - 1) / lanes * lanes;
  std::fill(x + n, x + whole, 0.0);
  const tile::SketchSums tile =
      tile::sketch_sums(x, whole, static_cast<uint64_t>(first / lanes), out.lanes.data());
  for (size_t k = 0; k < kGroup; ++k) {
    out.sums.sum += tile.sum[k];
    out.sums.absolutes += tile.absolutes[k];
    out.sums.squares += tile.squares[k];
  }
}

SignSums::Lanes sum_signs(int64_t elements) {
  SignSums::Lanes sums{};
  const auto lanes = static_cast<int64_t>(Sketch::kLanes);
  const auto add = [&](int64_t word, int64_t count) {
    const uint64_t signs = sketch_chance(static_cast<uint64_t>(word));
    for (int64_t i = 0; i < count; ++i) sums[static_cast<size_t>(i)] += (signs >> i & 1) != 0 ? -1 : 1;
  };
  // As whole numbers, eight lanes of a byte at a time.
  std::array<std::array<int64_t, 256>, Sketch::kLanes / kGroup> seen{};
  for (int64_t word = 0; word < elements / lanes; ++word) {
    const uint64_t signs = sketch_chance(static_cast<uint64_t>(word));
    for (size_t group = 0; group < seen.size(); ++group) ++seen[group][signs >> (group * kGroup) & 0xff];
  }
  for (size_t group = 0; group < seen.size(); ++group)
    for (size_t byte = 0; byte < 256; ++byte)
      for (size_t k = 0; k < kGroup; ++k)
        sums[group * kGroup + k] += static_cast<double>(seen[group][byte]) * kSketchSigns[byte][k];
  add(elements / lanes, elements % lanes);
  return sums;
}

}  // namespace

const SignSums::Lanes& SignSums::of(int64_t elements) {
  {
    const std::lock_guard lock(guard_);
    if (const auto found = known_.find(elements); found != known_.end()) return found->second;
  }
  const Lanes sums = sum_signs(elements);
  const std::lock_guard lock(guard_);
  return known_.try_emplace(elements, sums).first->second;
}

Result<Sketch> sketch_of(const Operand& operand, SignSums& sign_sums, SketchDepth depth) {
  static_assert(kBlockElements % static_cast<int64_t>(Sketch::kLanes) == 0);
  static_assert(kTile % static_cast<int64_t>(Sketch::kLanes) == 0);
  constexpr int64_t kStretches = 16, kStretch = 256;
  static_assert(kStretch % static_cast<int64_t>(Sketch::kLanes) == 0);
  Sketch sketch;
  sketch.meta = operand.meta;
  const DType dtype = operand.meta.dtype;
  const int64_t total = operand.meta.shape.count();
  sketch.sums.count = total;
  Scratch scratch;
  double values[kTile];
  int64_t& looked_at = sketch.sums.looked_at;
  const bool is_some = depth == SketchDepth::some && total > kStretches * kStretch;
  // So many bytes take no longer to read than their stretches.
  constexpr int64_t kReadAtOnce = 64 << 10;
  std::optional<Block> all;
  if (is_some && total <= kBlockElements && operand.meta.byte_size() <= kReadAtOnce) {
    ASSAY_TRY(all, operand.block(0, total, scratch));
  }
  const auto look = [&](int64_t first, int64_t count) -> Result<void> {
    ASSAY_TRY_DO(check_cancelled());
    Block block;
    if (all) {
      block = {all->dtype, all->data + first * size_of(all->dtype), count};
    } else {
      ASSAY_TRY(block, operand.block(first, count, scratch));
    }
    const int64_t parts = block.count * components(dtype);
    for (int64_t done = 0; done < parts; done += kTile) {
      const int64_t n = std::min(kTile, parts - done);
      to_f64(dtype, block.data + done * size_of(component(dtype)), n, values);
      add_to_sketch(values, n, looked_at, sketch);
      looked_at += n;
    }
    return {};
  };
  if (is_some) {
    for (int64_t i = 0; i < kStretches; ++i) {
      ASSAY_TRY_DO(look((total - kStretch) / (kStretches - 1) * i, kStretch));
    }
  } else {
    for (int64_t first = 0; first < total; first += kBlockElements) {
      ASSAY_TRY_DO(look(first, std::min(kBlockElements, total - first)));
    }
  }
  if (looked_at == 0) return sketch;
  const SignSums::Lanes& signs = sign_sums.of(looked_at);
  const double mean = sketch.sums.sum / static_cast<double>(looked_at);
  for (size_t i = 0; i < Sketch::kLanes; ++i) sketch.lanes[i] -= mean * signs[i];
  return sketch;
}

}  // namespace assay

// Caches of keys and values, updated in place: KvCache, ReshapeAndCache, BlockCopy.
#include "assay/base/checked.h"
#include "assay/golden/elements.h"
#include "assay/golden/indexings.h"
#include "assay/golden/sums.h"
#include "assay/tensor/cast.h"

#include <algorithm>
#include <unordered_set>

namespace assay {
namespace {

// Where the runs of a token lie in a cache.
struct CacheLayout {
  int64_t slots = 0;      // in all
  int64_t per_block = 1;  // slots of one block
  int64_t run = 1;        // elements that lie together
  int64_t runs = 1;       // of one token
  int64_t slot_step = 0;  // from one slot to the next of a block
  int64_t run_step = 0;   // from one run to the next of a token
  int64_t block_step = 0;

  int64_t place(int64_t slot, int64_t r) const {
    return slot / per_block * block_step + slot % per_block * slot_step + r * run_step;
  }
};

// [blocks, slots, heads, width]: a token lies in one piece.
std::optional<CacheLayout> rows_layout(const Shape& cache, int64_t heads, int64_t width) {
  const auto& d = cache.dims;
  if (d.size() != 4 || d[2] != heads || d[3] != width) return std::nullopt;
  const int64_t token = heads * width;
  return CacheLayout{d[0] * d[1], std::max<int64_t>(d[1], 1), token, 1, token, 0, d[1] * token};
}

// [blocks, heads · width in tiles, slots, tile]
std::optional<CacheLayout> tiles_layout(const Shape& cache, int64_t heads, int64_t width) {
  const auto& d = cache.dims;
  if (d.size() != 4 || (d[3] != 16 && d[3] != 32) || d[1] * d[3] != heads * width) return std::nullopt;
  return CacheLayout{d[0] * d[2], std::max<int64_t>(d[2], 1), d[3], d[1], d[3],
                     d[2] * d[3], d[1] * d[2] * d[3]};
}

Result<CacheLayout> layout_of(const GoldenCall& call, const Shape& cache, int64_t heads, int64_t width,
                              bool wants_tiles) {
  const auto rows = rows_layout(cache, heads, width), tiles = tiles_layout(cache, heads, width);
  const bool may_be_rows = !wants_tiles && call.soc != Soc::ascend_310p;
  const bool may_be_tiles = wants_tiles || call.soc != Soc::ascend_910b;
  if (rows && may_be_rows) return *rows;
  if (tiles && may_be_tiles) return *tiles;
  return fail(ErrorKind::mismatch, "a cache of shape {} does not fit tokens of {} heads of {}", cache.text(),
              heads, width);
}

struct CacheWrite {
  int64_t slot = 0;
  int64_t from = 0;  // element of the new tokens
};

// Patches for the writes, in their order. A negative slot is one that is not written.
Result<std::vector<Patch>> patches_of(const GoldenCall& call, const CacheLayout& layout,
                                      std::span<const CacheWrite> writes) {
  const auto count = checked_multiply(std::ssize(writes), layout.runs);
  if (!count || *count > call.memory / 2 / static_cast<int64_t>(2 * sizeof(Patch)))
    return fail(ErrorKind::limit, "{} tokens need more memory than --memory allows", writes.size());
  std::vector<Patch> patches;
  for (const auto& [slot, from] : writes) {
    if (slot < 0) continue;
    if (slot >= layout.slots)
      return fail(ErrorKind::mismatch, "the slot {} lies outside the cache of {} slots", slot, layout.slots);
    for (int64_t r = 0; r < layout.runs; ++r)
      patches.push_back({layout.place(slot, r), from + r * layout.run, layout.run});
  }
  return patches;
}

Result<OperandPtr> in_memory_of(const GoldenCall& call, size_t i) {
  ASSAY_TRY(Elements elements, elements_of(call, i));
  return operand_of(std::move(elements));
}

// The new tokens of one tensor in slots of one cache.
Result<Expected> written_cache(const GoldenCall& call, size_t tokens, size_t cache, const Integers& slots,
                               bool wants_tiles) {
  ASSAY_TRY_DO(check_rank(call, tokens, 3));
  ASSAY_TRY_DO(check_same_type(call, tokens, cache));
  const Shape& shape = shape_of(call, tokens);
  if (slots.count() != shape.dims[0])
    return fail(ErrorKind::mismatch, "{} slots for {} tokens", slots.count(), shape.dims[0]);
  ASSAY_TRY(const CacheLayout layout,
            layout_of(call, shape_of(call, cache), shape.dims[1], shape.dims[2], wants_tiles));
  std::vector<CacheWrite> writes;
  for (int64_t i = 0; i < slots.count(); ++i)
    writes.push_back({slots.values[static_cast<size_t>(i)], i * shape.dims[1] * shape.dims[2]});
  ASSAY_TRY(std::vector<Patch> patches, patches_of(call, layout, writes));
  ASSAY_TRY(OperandPtr values, in_memory_of(call, tokens));
  return exactly(patched(call.in[cache], std::move(values), std::move(patches)));
}

// ----- compressed heads: each head of each sample has slots of its own, [blocks, slots, 1, width]

struct HeadWindows {
  Integers slots, windows, ends;  // one per head of each sample; ends: of the samples, among the tokens
  Integers lengths;
  int64_t tokens = 0, heads = 0, width = 0;
};

Result<HeadWindows> head_windows(const GoldenCall& call) {
  for (const size_t i : {size_t{0}, size_t{1}}) ASSAY_TRY_DO(check_rank(call, i, 3));
  const Shape& shape = shape_of(call, 0);
  if (shape_of(call, 1) != shape)
    return fail(ErrorKind::mismatch, "keys of shape {} and values of shape {}", shape.text(),
                shape_of(call, 1).text());
  HeadWindows out;
  ASSAY_TRY(out.slots, integers_of(call, 4));
  ASSAY_TRY(out.windows, integers_of(call, 5));
  ASSAY_TRY(out.lengths, integers_of(call, 6));
  out.tokens = shape.dims[0], out.heads = shape.dims[1], out.width = shape.dims[2];
  const auto each = checked_multiply(out.lengths.count(), out.heads);
  if (!each || out.slots.count() != *each || out.windows.count() != *each)
    return fail(ErrorKind::mismatch, "{} slots and {} windows for {} samples of {} heads", out.slots.count(),
                out.windows.count(), out.lengths.count(), out.heads);
  int64_t end = 0;
  for (const int64_t length : out.lengths.values) {
    if (length < 0 || length > out.tokens - end)
      return fail(ErrorKind::mismatch, "the samples are longer than the {} tokens", out.tokens);
    out.ends.values.push_back(end += length);
  }
  for (size_t i = 0; i < out.windows.values.size(); ++i)
    if (out.windows.values[i] < 0 ||
        out.windows.values[i] > out.lengths.values[i / static_cast<size_t>(out.heads)])
      return fail(ErrorKind::mismatch, "a window of {} in a sample of {} tokens", out.windows.values[i],
                  out.lengths.values[i / static_cast<size_t>(out.heads)]);
  return out;
}

Result<CacheLayout> head_layout(const GoldenCall& call, size_t tokens, size_t cache, int64_t width) {
  ASSAY_TRY_DO(check_same_type(call, tokens, cache));
  const auto layout = rows_layout(shape_of(call, cache), 1, width);
  if (layout) return *layout;
  return fail(ErrorKind::mismatch, "a cache of shape {} does not hold single heads of {}",
              shape_of(call, cache).text(), width);
}

// The last tokens of each sample, as many as the window of the head.
Result<Expected> last_tokens(const GoldenCall& call, const HeadWindows& at, size_t tokens, size_t cache) {
  ASSAY_TRY(const CacheLayout layout, head_layout(call, tokens, cache, at.width));
  std::vector<CacheWrite> writes;
  for (size_t i = 0; i < at.slots.values.size(); ++i) {
    const int64_t head = static_cast<int64_t>(i) % at.heads, window = at.windows.values[i];
    if (at.slots.values[i] < 0) continue;
    const int64_t first = at.ends.values[i / static_cast<size_t>(at.heads)] - window;
    for (int64_t j = 0; j < window; ++j) {
      const auto slot = checked_add(at.slots.values[i], j);
      if (!slot) return fail(ErrorKind::mismatch, "the slot {} lies outside the cache", at.slots.values[i]);
      writes.push_back({*slot, ((first + j) * at.heads + head) * at.width});
    }
  }
  ASSAY_TRY(std::vector<Patch> patches, patches_of(call, layout, writes));
  ASSAY_TRY(OperandPtr values, in_memory_of(call, tokens));
  return exactly(patched(call.in[cache], std::move(values), std::move(patches)));
}

// All tokens of each sample, those of the window of the head replaced by their mean. An offset of -1: all.
Result<Expected> merged_tokens(const GoldenCall& call, const HeadWindows& at, const Integers& offsets,
                               size_t tokens, size_t cache) {
  ASSAY_TRY(const CacheLayout layout, head_layout(call, tokens, cache, at.width));
  ASSAY_TRY(Numbers values, numbers_of(call, tokens));
  std::vector<float> allowed(values.values.size(), 0);
  const double u = unit_of_arithmetic(dtype_of(call, tokens));
  std::vector<CacheWrite> writes;
  for (size_t i = 0; i < at.slots.values.size(); ++i) {
    if (at.slots.values[i] < 0) continue;
    const size_t sample = i / static_cast<size_t>(at.heads);
    const int64_t head = static_cast<int64_t>(i) % at.heads, length = at.lengths.values[sample];
    const int64_t first = at.ends.values[sample] - length, offset = offsets.values[i];
    const int64_t window = offset == -1 ? 0 : at.windows.values[i];
    if (offset < -1 || (offset >= 0 && offset > length - window))
      return fail(ErrorKind::mismatch, "a window of {} from token {} in a sample of {} tokens", window,
                  offset, length);
    if (at.slots.values[i] > layout.slots - (window > 0 ? length - window + 1 : length))
      return fail(ErrorKind::mismatch, "slots from {} on lie outside the cache of {} slots",
                  at.slots.values[i], layout.slots);
    int64_t slot = at.slots.values[i];
    const auto element = [&](int64_t token) { return ((first + token) * at.heads + head) * at.width; };
    for (int64_t token = 0; token < length; ++token) {
      const bool is_merged = window > 0 && token >= offset && token < offset + window;
      if (!is_merged || token == offset + window - 1) writes.push_back({slot++, element(token)});
    }
    for (int64_t k = 0; window > 0 && k < at.width; ++k) {  // the mean takes the place of the last one
      SumError sum;
      for (int64_t j = 0; j < window; ++j)
        sum.add(values.values[static_cast<size_t>(element(offset + j) + k)]);
      const auto place = static_cast<size_t>(element(offset + window - 1) + k);
      const double mean = sum.sum() / static_cast<double>(window);
      values.values[place] = mean;
      allowed[place] = as_allowed(sum.error(u) / static_cast<double>(window) + 2 * u * std::abs(mean));
    }
  }
  ASSAY_TRY(std::vector<Patch> patches, patches_of(call, layout, writes));
  ASSAY_TRY(OperandPtr wide, assay::cast(call.in[cache], DType::f64));
  ASSAY_TRY(OperandPtr none, constant(DType::f32, 0, shape_of(call, cache)));
  const Expected made = expected(dtype_of(call, cache), std::move(values), std::move(allowed));
  Expected out;
  out.dtype = dtype_of(call, cache);
  out.value = patched(std::move(wide), made.value, patches);
  out.allowed = patched(std::move(none), made.allowed, std::move(patches));
  return out;
}

}  // namespace

// in: new tokens [tokens, width], layer [1], cache [layers, batch, room, width], ends [batch], lengths
// [batch]
Result<GoldenOutputs> golden_kv_cache(const GoldenCall& call) {
  ASSAY_TRY_DO(check_given(call, 5, 5));
  ASSAY_TRY_DO(check_rank(call, 0, 2));
  ASSAY_TRY_DO(check_rank(call, 2, 4));
  ASSAY_TRY_DO(check_same_type(call, 0, 2));
  ASSAY_TRY(const Integers layer, integers_of(call, 1));
  ASSAY_TRY(const Integers ends, integers_of(call, 3));
  ASSAY_TRY(const Integers lengths, integers_of(call, 4));
  const auto& cache = shape_of(call, 2).dims;
  const int64_t tokens = shape_of(call, 0).dims[0], width = shape_of(call, 0).dims[1];
  if (cache[3] != width || ends.count() != cache[1] || lengths.count() != cache[1] || layer.count() != 1)
    return fail(ErrorKind::mismatch, "tokens of shape {} and {} lengths do not fit a cache of shape {}",
                shape_of(call, 0).text(), lengths.count(), shape_of(call, 2).text());
  if (layer.values[0] < 0 || layer.values[0] >= cache[0])
    return fail(ErrorKind::mismatch, "the layer {} is none of the {}", layer.values[0], cache[0]);
  std::vector<Patch> patches;
  int64_t from = 0;
  for (int64_t b = 0; b < cache[1]; ++b) {
    const int64_t end = ends.values[static_cast<size_t>(b)], length = lengths.values[static_cast<size_t>(b)];
    if (length < 0 || length > tokens - from || end < length || end > cache[2])
      return fail(ErrorKind::mismatch,
                  "{} tokens up to {} of sample {} do not fit {} tokens and a cache of {}", length, end, b,
                  tokens, cache[2]);
    const int64_t row = (layer.values[0] * cache[1] + b) * cache[2] + end - length;
    patches.push_back({row * width, from * width, length * width});
    from += length;
  }
  ASSAY_TRY(OperandPtr values, in_memory_of(call, 0));
  return GoldenOutputs{exactly(patched(call.in[2], std::move(values), std::move(patches)))};
}

Result<GoldenOutputs> golden_reshape_and_cache(const GoldenCall& call) {
  constexpr int64_t kKinds[] = {0, 1, 2};
  ASSAY_TRY(const int64_t compress, call.params.choice_or({"compressType"}, 0, kKinds));
  ASSAY_TRY(const int64_t config, call.params.choice_or({"kvCacheCfg"}, 0, kKinds));
  if (compress != 0 && config != 0)
    return fail(ErrorKind::bad_argument, "compressType {} does not go with kvCacheCfg {}", compress, config);
  if (config == 1) {  // keys only
    ASSAY_TRY_DO(check_given(call, 3, 3));
    ASSAY_TRY(const Integers slots, integers_of(call, 2));
    ASSAY_TRY(Expected keys, written_cache(call, 0, 1, slots, false));
    return GoldenOutputs{std::move(keys)};
  }
  const size_t inputs = compress == 0 ? 5 : compress == 1 ? 7 : 8;
  ASSAY_TRY_DO(check_given(call, inputs, inputs));
  if (compress == 0) {
    ASSAY_TRY(const Integers slots, integers_of(call, 4));
    ASSAY_TRY(Expected keys, written_cache(call, 0, 2, slots, config == 2));
    ASSAY_TRY(Expected values, written_cache(call, 1, 3, slots, config == 2));
    return GoldenOutputs{std::move(keys), std::move(values)};
  }
  ASSAY_TRY(const HeadWindows windows, head_windows(call));
  if (compress == 1) {
    ASSAY_TRY(Expected keys, last_tokens(call, windows, 0, 2));
    ASSAY_TRY(Expected values, last_tokens(call, windows, 1, 3));
    return GoldenOutputs{std::move(keys), std::move(values)};
  }
  ASSAY_TRY(const Integers offsets, integers_of(call, 7));
  if (offsets.count() != windows.slots.count())
    return fail(ErrorKind::mismatch, "{} offsets for {} slots", offsets.count(), windows.slots.count());
  ASSAY_TRY(Expected keys, merged_tokens(call, windows, offsets, 0, 2));
  ASSAY_TRY(Expected values, merged_tokens(call, windows, offsets, 1, 3));
  return GoldenOutputs{std::move(keys), std::move(values)};
}

// in: two caches [blocks, …], blocks to copy [n], where to [m], up to which of those each is copied [n]
Result<GoldenOutputs> golden_block_copy(const GoldenCall& call) {
  ASSAY_TRY_DO(check_given(call, 5, 5));
  ASSAY_TRY(const Integers from, integers_of(call, 2));
  ASSAY_TRY(const Integers to, integers_of(call, 3));
  ASSAY_TRY(const Integers ends, integers_of(call, 4));
  if (ends.count() != from.count())
    return fail(ErrorKind::mismatch, "{} blocks and {} sums", from.count(), ends.count());
  const std::unordered_set<int64_t> sources(from.values.begin(), from.values.end());
  std::unordered_set<int64_t> targets;
  GoldenOutputs outputs;
  for (const size_t c : {size_t{0}, size_t{1}}) {
    const Shape& shape = shape_of(call, c);
    if (shape.dims.empty()) return fail(ErrorKind::mismatch, "input {} of {} is a scalar", c, call.type);
    const int64_t blocks = shape.dims[0], size = extent_between(shape, 1, shape.dims.size());
    targets.clear();
    std::vector<Patch> patches;
    int64_t at = 0;
    for (size_t i = 0; i < from.values.size(); ++i) {
      const int64_t source = from.values[i], end = ends.values[i];
      if (end < at || end > to.count())
        return fail(ErrorKind::mismatch, "the sum {} lies outside {} to {}", end, at, to.count());
      for (; at < end; ++at) {
        const int64_t target = to.values[static_cast<size_t>(at)];
        if (source < 0 || source >= blocks || target < 0 || target >= blocks)
          return fail(ErrorKind::mismatch, "from block {} to block {} of {}", source, target, blocks);
        if (source != target && (sources.contains(target) || !targets.insert(target).second))
          return fail(ErrorKind::unsupported, "the block {} is copied and written, or written twice", target);
        patches.push_back({target * size, source * size, size});
      }
    }
    outputs.push_back(exactly(patched(call.in[c], call.in[c], std::move(patches))));
  }
  return outputs;
}

}  // namespace assay

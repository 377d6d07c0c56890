#include "assay/golden/moves.h"

#include "assay/base/checked.h"
#include "assay/golden/elements.h"
#include "assay/golden/families.h"
#include "assay/tensor/gather.h"

#include <algorithm>

namespace assay {
namespace {

Result<GoldenOutputs> compute_as_strided(const GoldenCall& call) {
  ASSAY_TRY_DO(check_given(call, 1, 1));
  ASSAY_TRY(const std::vector<int64_t> size, call.params.integers({"size"}));
  ASSAY_TRY(const std::vector<int64_t> stride, call.params.integers({"stride"}));
  ASSAY_TRY(const std::vector<int64_t> offset, call.params.integers({"offset"}));
  if (offset.empty()) return fail(ErrorKind::bad_argument, "the parameter offset is empty");
  auto view = strided(call.in[0], Shape{size}, stride, offset[0]);
  if (!view) return fail(ErrorKind::mismatch, "{}", view.error().message);
  return GoldenOutputs{exactly(*std::move(view))};
}

Result<GoldenOutputs> compute_concat(const GoldenCall& call) {
  constexpr size_t kMany = 1024;  // no operator has as many inputs
  ASSAY_TRY_DO(check_given(call, 1, kMany));
  ASSAY_TRY(const int64_t number, call.params.integer({"concatDim"}));
  ASSAY_TRY(const size_t axis, dimension(shape_of(call, 0), number, "concatDim"));
  ASSAY_TRY(OperandPtr joined, concatenated(call.in, static_cast<int64_t>(axis)));
  return GoldenOutputs{exactly(std::move(joined))};
}

Result<GoldenOutputs> compute_slice(const GoldenCall& call) {
  ASSAY_TRY_DO(check_given(call, 1, 1));
  ASSAY_TRY(const std::vector<int64_t> offsets, call.params.integers({"offsets"}));
  ASSAY_TRY(const std::vector<int64_t> sizes, call.params.integers({"size"}));
  const Shape& shape = shape_of(call, 0);
  if (offsets.size() != shape.dims.size() || sizes.size() != shape.dims.size())
    return fail(ErrorKind::mismatch, "{} offsets and {} sizes do not fit the shape {}", offsets.size(),
                sizes.size(), shape.text());
  OperandPtr part = call.in[0];
  for (size_t i = 0; i < offsets.size(); ++i) {
    const int64_t extent = shape.dims[i];
    if (offsets[i] < -extent || offsets[i] > extent)
      return fail(ErrorKind::mismatch, "offset {} lies outside dimension {} of shape {}", offsets[i], i,
                  shape.text());
    if (sizes[i] < -1)
      return fail(ErrorKind::bad_argument, "the parameter size holds {}, which is less than -1", sizes[i]);
    const int64_t first = offsets[i] < 0 ? offsets[i] + extent : offsets[i];
    ASSAY_TRY(part, sliced(part, i, first, sizes[i] == -1 ? extent - first : sizes[i]));
  }
  return GoldenOutputs{exactly(std::move(part))};
}

Result<GoldenOutputs> compute_split(const GoldenCall& call) {
  constexpr int64_t kNumbers[] = {2, 3};
  ASSAY_TRY_DO(check_given(call, 1, 1));
  ASSAY_TRY(const int64_t number, call.params.choice({"splitNum"}, kNumbers));
  ASSAY_TRY(const int64_t dim, call.params.integer({"splitDim"}));
  ASSAY_TRY(std::vector<int64_t> sizes, call.params.integers_or({"splitSizes"}, {}));
  const Shape& shape = shape_of(call, 0);
  ASSAY_TRY(const size_t axis, dimension(shape, dim, "splitDim"));
  const int64_t extent = shape.dims[axis];
  if (sizes.empty()) {  // all alike, but for the last where that does not work out
    const int64_t chunk = (extent + number - 1) / number;
    for (int64_t i = 0; i < number; ++i) sizes.push_back(std::min(chunk, extent - i * chunk));
    if (sizes.back() < 0 || (sizes.back() == 0 && extent > 0))
      return fail(ErrorKind::mismatch, "{} indices cannot be split into {}", extent, number);
  }
  if (std::ssize(sizes) != number)
    return fail(ErrorKind::bad_argument, "splitSizes has {} entries where splitNum is {}", sizes.size(),
                number);
  GoldenOutputs parts;
  int64_t first = 0;
  for (const int64_t size : sizes) {
    if (size < 0 || size > extent - first)
      return fail(ErrorKind::mismatch, "splitSizes do not fit dimension {} of shape {}", axis, shape.text());
    ASSAY_TRY(OperandPtr part, sliced(call.in[0], axis, first, size));
    parts.push_back(exactly(std::move(part)));
    first += size;
  }
  if (first != extent)
    return fail(ErrorKind::mismatch, "splitSizes leave {} of the {} indices of dimension {}", extent - first,
                extent, axis);
  return parts;
}

Result<GoldenOutputs> compute_transpose(const GoldenCall& call) {
  ASSAY_TRY_DO(check_given(call, 1, 1));
  ASSAY_TRY(const std::vector<int64_t> perm, call.params.integers({"perm"}));
  const Shape& shape = shape_of(call, 0);
  const std::vector<int64_t> strides = strides_of(shape);
  Shape turned;
  std::vector<int64_t> steps;
  std::vector<bool> seen(shape.dims.size(), false);
  for (const int64_t number : perm) {
    ASSAY_TRY(const size_t axis, dimension(shape, number, "perm"));
    if (seen[axis]) return fail(ErrorKind::bad_argument, "perm names the dimension {} twice", number);
    seen[axis] = true;
    turned.dims.push_back(shape.dims[axis]);
    steps.push_back(strides[axis]);
  }
  if (perm.size() != shape.dims.size())
    return fail(ErrorKind::mismatch, "perm has {} entries for the shape {}", perm.size(), shape.text());
  ASSAY_TRY(OperandPtr view, strided(call.in[0], turned, steps, 0));
  return GoldenOutputs{exactly(std::move(view))};
}

// Each dimension some times over; `multiples` may add dimensions in front.
Result<GoldenOutputs> compute_repeat(const GoldenCall& call) {
  ASSAY_TRY_DO(check_given(call, 1, 1));
  ASSAY_TRY(const std::vector<int64_t> multiples, call.params.integers({"multiples"}));
  const Shape& shape = shape_of(call, 0);
  if (multiples.size() < shape.dims.size())
    return fail(ErrorKind::mismatch, "{} multiples for the shape {}", multiples.size(), shape.text());
  const std::vector<int64_t> strides = strides_of(shape);
  const size_t added = multiples.size() - shape.dims.size();
  std::vector<Axis> axes;
  Shape result;
  for (size_t i = 0; i < multiples.size(); ++i) {
    if (multiples[i] < 0)
      return fail(ErrorKind::bad_argument, "the parameter multiples holds {}, which is negative",
                  multiples[i]);
    const int64_t extent = i < added ? 1 : shape.dims[i - added];
    const auto repeated = checked_multiply(extent, multiples[i]);
    if (!repeated) return fail(ErrorKind::mismatch, "multiples do not fit the shape {}", shape.text());
    result.dims.push_back(*repeated);
    axes.push_back({*repeated, {{multiples[i], 0}, {extent, i < added ? 0 : strides[i - added]}}});
  }
  ASSAY_TRY(const int64_t count, count_of(result));
  if (count == 0) {
    ASSAY_TRY(Elements none, zero_elements(call, dtype_of(call, 0), result));
    return GoldenOutputs{exactly(std::move(none))};
  }
  return GoldenOutputs{exactly(gathered(call.in[0], 0, std::move(axes)))};
}

constexpr int64_t kRowsOfTile = 16;

// [b, m, n] to [b, n in tiles, m in tiles of 16 rows, tile]; what fills up a tile is zero.
Result<GoldenOutputs> rows_into_tiles(const GoldenCall& call) {
  Shape from = shape_of(call, 0);
  if (from.dims.size() == 2) from.dims.insert(from.dims.begin(), 1);
  if (from.dims.size() != 3)
    return fail(ErrorKind::mismatch, "the shape {} has neither two nor three dimensions",
                shape_of(call, 0).text());
  const int64_t batch = from.dims[0], rows = from.dims[1], columns = from.dims[2];
  const int64_t tile = dtype_of(call, 0) == DType::i8 ? 2 * kRowsOfTile : kRowsOfTile;
  const int64_t across = columns / tile + (columns % tile != 0 ? 1 : 0);
  const int64_t down = rows / kRowsOfTile + (rows % kRowsOfTile != 0 ? 1 : 0);
  const auto height = checked_multiply(down, kRowsOfTile);
  if (!height) return fail(ErrorKind::mismatch, "no tensor has the rows of shape {}", from.text());
  ASSAY_TRY(const Elements source, elements_of(call, 0));
  ASSAY_TRY(Elements out, zero_elements(call, source.meta.dtype, Shape{{batch, across, *height, tile}}));
  for (int64_t b = 0; b < batch; ++b)
    for (int64_t m = 0; m < rows; ++m)
      for (int64_t t = 0; t < across; ++t) {
        const int64_t first = t * tile, count = std::min(tile, columns - first);
        std::copy_n(source.at((b * rows + m) * columns + first), count * source.size(),
                    out.at(((b * across + t) * *height + m) * tile));
      }
  return GoldenOutputs{exactly(std::move(out))};
}

// [b, n in tiles, m, tile] to [b, m, n], cropped.
Result<GoldenOutputs> tiles_into_rows(const GoldenCall& call) {
  ASSAY_TRY_DO(check_rank(call, 0, 4));
  ASSAY_TRY(const std::vector<int64_t> crops, call.params.integers({"outCrops"}));
  if (crops.size() != 2) return fail(ErrorKind::bad_argument, "outCrops has {} entries, not 2", crops.size());
  const Shape& shape = shape_of(call, 0);
  const int64_t across = shape.dims[1], rows = shape.dims[2], tile = shape.dims[3];
  if (crops[0] < 0 || crops[0] > rows || crops[1] < 0 || crops[1] > across * tile)
    return fail(ErrorKind::mismatch, "outCrops {} do not fit into {}", Shape{crops}.text(), shape.text());
  const Shape result{{shape.dims[0], crops[0], crops[1]}};
  if (result.count() == 0) {
    ASSAY_TRY(Elements none, zero_elements(call, dtype_of(call, 0), result));
    return GoldenOutputs{exactly(std::move(none))};
  }
  return GoldenOutputs{exactly(gathered(call.in[0], 0,
                                        {{shape.dims[0], {{shape.dims[0], across * rows * tile}}},
                                         {crops[0], {{rows, tile}}},
                                         {crops[1], {{across, rows * tile}, {tile, 1}}}}))};
}

Result<GoldenOutputs> compute_transdata(const GoldenCall& call) {
  constexpr int64_t kTypes[] = {1, 2};
  ASSAY_TRY_DO(check_given(call, 1, 1));
  ASSAY_TRY(const int64_t type, call.params.choice({"transdataType"}, kTypes));
  return type == 1 ? tiles_into_rows(call) : rows_into_tiles(call);
}

constexpr int kBoxAndValues[] = {0, 1};

constexpr GoldenOp kMoves[] = {
    {"AsStridedOperation", compute_as_strided, "the elements at steps through memory"},
    {"ConcatOperation", compute_concat, "tensors joined along a dimension"},
    {"FillOperation", golden_fill, "one value, everywhere or where a mask says so"},
    {"GenAttentionMaskOperation", golden_gen_attention_mask, "masks of the samples, packed, once per head"},
    {"PadOperation", golden_pad, "the last token of each sample"},
    {"PadWithHiddenStateOperation", golden_pad_with_hidden_state, "samples padded to one length"},
    {"RepeatOperation", compute_repeat, "a tensor some times over along each dimension"},
    {"SetValueOperation", golden_set_value, "a tensor with a box of it replaced", {kBoxAndValues, true}},
    {"SliceOperation", compute_slice, "a box of a tensor"},
    {"SplitOperation", compute_split, "a tensor cut along a dimension"},
    {"TransdataOperation", compute_transdata, "rows into tiles (FRACTAL_NZ), or back"},
    {"TransposeOperation", compute_transpose, "dimensions in another order"},
    {"UnpadOperation", golden_unpad, "token ids without padding, and where the padding was"},
    {"UnpadWithHiddenStateOperation", golden_unpad_with_hidden_state, "samples without padding, packed"},
    {"WhereOperation", golden_where, "elements of one or another tensor, as a condition says"},
};

}  // namespace

GoldenFamily golden_moves() { return kMoves; }

}  // namespace assay

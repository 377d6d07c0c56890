#include "assay/golden/indexings.h"

#include "assay/base/checked.h"
#include "assay/golden/elements.h"
#include "assay/golden/families.h"

#include <algorithm>

namespace assay {
namespace {

// Runs of `run` elements of a table. Small tables, and runs that are too short to be read one by one, are
// read once; of a large table only what is wanted.
class TableReader {
 public:
  static Result<TableReader> open(const GoldenCall& call, size_t i, int64_t run, int64_t wanted) {
    constexpr int64_t kSmall = int64_t{64} << 20, kShortRun = 512;
    TableReader reader(call.in[i]);
    const int64_t bytes = call.in[i]->meta.byte_size();
    const bool is_worth_it = bytes / 4 <= wanted * size_of(dtype_of(call, i)) || bytes <= kSmall ||
                             run * size_of(dtype_of(call, i)) < kShortRun;
    if (is_worth_it && bytes <= call.memory / 2) {
      ASSAY_TRY(Elements whole, elements_of(call, i));
      reader.table_ = operand_of(std::move(whole));
    }
    return reader;
  }
  Result<void> read(int64_t first, int64_t count, std::byte* to) {
    return table_->read(first, count, {to, static_cast<size_t>(count * size_of(table_->meta.dtype))},
                        *scratch_);
  }

 private:
  explicit TableReader(OperandPtr table) : table_(std::move(table)) {}
  OperandPtr table_;
  std::unique_ptr<Scratch> scratch_ = std::make_unique<Scratch>();
};

// out[b…, i…, k…, j…] = table[b…, i…, index[b…, k…], j…]
Result<GoldenOutputs> compute_gather(const GoldenCall& call) {
  ASSAY_TRY_DO(check_given(call, 2, 2));
  ASSAY_TRY(const int64_t number, call.params.integer({"axis"}));
  ASSAY_TRY(const int64_t batch_dims, call.params.integer({"batchDims"}));
  const Shape& table = shape_of(call, 0);
  ASSAY_TRY(const size_t axis, dimension(table, number, "axis"));
  if (batch_dims < 0 || batch_dims > static_cast<int64_t>(axis) ||
      batch_dims > std::ssize(shape_of(call, 1).dims))
    return fail(ErrorKind::bad_argument, "the parameter batchDims is {}, which is not between 0 and axis {}",
                batch_dims, axis);
  ASSAY_TRY(const Integers index, integers_of(call, 1));
  const auto shared = static_cast<size_t>(batch_dims);
  if (!std::equal(table.dims.begin(), table.dims.begin() + batch_dims, index.shape.dims.begin()))
    return fail(ErrorKind::mismatch, "the first {} dimensions of {} and {} differ", batch_dims, table.text(),
                index.shape.text());
  const int64_t extent = table.dims[axis];
  for (const int64_t i : index.values)
    if (i < 0 || i >= extent)
      return fail(ErrorKind::mismatch, "the index {} lies outside the {} of dimension {}", i, extent, axis);

  Shape shape{{table.dims.begin(), table.dims.begin() + static_cast<int64_t>(axis)}};
  shape.dims.insert(shape.dims.end(), index.shape.dims.begin() + batch_dims, index.shape.dims.end());
  shape.dims.insert(shape.dims.end(), table.dims.begin() + static_cast<int64_t>(axis) + 1, table.dims.end());
  ASSAY_TRY(Elements out, zero_elements(call, dtype_of(call, 0), shape));
  if (out.bytes.empty()) return GoldenOutputs{exactly(std::move(out))};
  const int64_t batches = extent_between(table, 0, shared), outer = extent_between(table, shared, axis);
  const int64_t run = extent_between(table, axis + 1, table.dims.size());
  const int64_t picks = extent_between(index.shape, shared, index.shape.dims.size());
  ASSAY_TRY(TableReader reader, TableReader::open(call, 0, run, shape.count()));
  int64_t at = 0;
  for (int64_t b = 0; b < batches; ++b)
    for (int64_t o = 0; o < outer; ++o)
      for (int64_t k = 0; k < picks; ++k, at += run) {
        const int64_t pick = index.values[static_cast<size_t>(b * picks + k)];
        ASSAY_TRY_DO(reader.read(((b * outer + o) * extent + pick) * run, run, out.at(at)));
      }
  return GoldenOutputs{exactly(std::move(out))};
}

// Where the new dimension goes: at `axis`. Its own documentation tells another story, in which it comes last
// whatever the axis; the shape that was written tells which one was true.
size_t place_of_depth(const GoldenCall& call, size_t axis, int64_t depth) {
  const Shape& shape = shape_of(call, 0);
  Shape at_axis = shape, last = shape;
  at_axis.dims.insert(at_axis.dims.begin() + static_cast<int64_t>(axis), depth);
  last.dims.push_back(depth);
  const bool is_last = !call.out.empty() && call.out[0].shape == last && call.out[0].shape != at_axis;
  return is_last ? shape.dims.size() : axis;
}

// in: classes, [what marks a class, what the rest holds]
Result<GoldenOutputs> compute_onehot(const GoldenCall& call) {
  ASSAY_TRY_DO(check_given(call, 1, 3));
  if (call.in.size() == 2)
    return fail(ErrorKind::mismatch, "{} takes 1 or 3 inputs, the dump has 2", call.type);
  ASSAY_TRY(const int64_t number, call.params.integer({"axis"}));
  ASSAY_TRY(const int64_t depth, call.params.integer({"depth"}));
  if (depth < 0) return fail(ErrorKind::bad_argument, "the parameter depth is {}, which is negative", depth);
  ASSAY_TRY(const Integers classes, integers_of(call, 0));
  Shape wider = classes.shape;
  wider.dims.push_back(depth);
  ASSAY_TRY(const size_t axis, dimension(wider, number, "axis"));
  const size_t place = place_of_depth(call, axis, depth);
  double marks[2] = {1, 0};
  for (size_t i = 0; i < 2; ++i) {
    if (!has_input(call, i + 1)) continue;
    ASSAY_TRY(const Numbers mark, numbers_of(call, i + 1));
    if (mark.count() != 1)
      return fail(ErrorKind::mismatch, "input {} of {} has the shape {}, not [1]", i + 1, call.type,
                  mark.shape.text());
    marks[i] = mark.values[0];
  }
  const DType dtype = dtype_of(call, 0);
  Shape shape = classes.shape;
  shape.dims.insert(shape.dims.begin() + static_cast<int64_t>(place), depth);
  ASSAY_TRY(Elements out, zero_elements(call, dtype, shape));
  if (marks[1] != 0)
    for (int64_t i = 0; i < shape.count(); ++i) from_f64(dtype, &marks[1], 1, out.at(i));
  const int64_t inner = extent_between(classes.shape, place, classes.shape.dims.size());
  for (int64_t i = 0; i < classes.count(); ++i) {
    const int64_t which = classes.values[static_cast<size_t>(i)];
    if (which < 0 || which >= depth)
      return fail(ErrorKind::mismatch, "the class {} lies outside the depth {}", which, depth);
    from_f64(dtype, &marks[0], 1, out.at((i / inner * depth + which) * inner + i % inner));
  }
  return GoldenOutputs{exactly(std::move(out))};
}

Result<GoldenOutputs> compute_nonzero(const GoldenCall& call) {
  ASSAY_TRY_DO(check_given(call, 1, 1));
  ASSAY_TRY(const Numbers data, numbers_of(call, 0));
  const int64_t rank = std::ssize(data.shape.dims), count = data.count();
  const Shape shape{{rank, count}};
  ASSAY_TRY_DO(zero_elements(call, DType::i64, shape));  // asks whether there is room
  Integers places{shape, std::vector<int64_t>(static_cast<size_t>(rank * count), 0)};
  int64_t found = 0;
  for (int64_t i = 0; i < count; ++i) {
    if (data.values[static_cast<size_t>(i)] == 0) continue;
    int64_t rest = i;
    for (int64_t d = rank; d-- > 0;) {
      const int64_t extent = data.shape.dims[static_cast<size_t>(d)];
      places.values[static_cast<size_t>(d * count + found)] = rest % extent;
      rest /= extent;
    }
    ++found;
  }
  const Integers number{single_shape(call, 1), {found}};
  return GoldenOutputs{expected(DType::i64, places), expected(DType::i64, number)};
}

std::optional<size_t> scattered_sum(const GoldenParams& params) {
  const bool adds = params.integer_or({"reduction"}, 0).value_or(0) == 1;
  return adds ? std::optional<size_t>(0) : std::nullopt;
}

constexpr int kBothCaches[] = {0, 1};
constexpr int kCacheOfLayers[] = {2};
constexpr int kFirst[] = {0};

constexpr GoldenOp kIndexings[] = {
    {"BlockCopyOperation", golden_block_copy, "blocks of caches copied to others", {kBothCaches, true}},
    {"GatherOperation", compute_gather, "slices of a tensor, picked by their indices"},
    {"GatingOperation", golden_gating, "tokens sorted by the experts that they chose"},
    {"GroupTopkOperation",
     golden_group_topk,
     "scores with all but the best groups of experts set to zero",
     {kFirst, true, [](const GoldenParams&) { return std::optional<size_t>(0); }}},
    {"IndexAddOperation",
     golden_index_add,
     "slices added to those that indices name",
     {{}, false, [](const GoldenParams&) { return std::optional<size_t>(0); }}},
    {"KvCacheOperation", golden_kv_cache, "new keys or values written into a cache", {kCacheOfLayers, true}},
    {"NonzeroOperation", compute_nonzero, "the places of what is not zero, and their number"},
    {"OnehotOperation", compute_onehot, "ones at the indices, zeros elsewhere"},
    {"ReshapeAndCacheOperation",
     golden_reshape_and_cache,
     "new keys and values written into slots of a cache",
     {{}, true}},
    {"ScatterElementsV2Operation",
     golden_scatter_elements,
     "elements written or added where indices say",
     {kFirst, true, scattered_sum}},
};

}  // namespace

GoldenFamily golden_indexings() { return kIndexings; }

}  // namespace assay

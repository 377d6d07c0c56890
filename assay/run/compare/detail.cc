#include "assay/run/compare/detail.h"

#include "assay/base/mapping.h"
#include "assay/metric/detail/diagnose.h"
#include "assay/metric/detail/gatherer.h"
#include "assay/metric/detail/rearranged.h"
#include "assay/run/compare/gather_bands.h"
#include "assay/run/compare/gather_parallel.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace assay {
namespace {

// Values around the worst element.
constexpr int64_t kWindowRows = 5, kWindowColumns = 7;

Result<detail::DetailSums> detail_pass(const Operand& mine, const Operand& golden, const detail::Walk& walk,
                                       const detail::DetailStart& start, bool may_map, Progress& progress) {
  return gather_bands_of_pair<detail::DetailSums>(
      mine, golden, may_map, progress, [&](int64_t first, int64_t count, PairScratch& scratch) {
        return detail::gather_detail(mine, golden, walk, start, first, count, scratch);
      });
}

// Of both sides, `rows` x `columns` around the worst element in the dimensions of the map.
Result<void> read_window(const Operand& mine, const Operand& golden, Detail& detail) {
  if (detail.worst.empty() || is_complex(detail.mine)) return {};
  const std::vector<int64_t>& dims = detail.shape.dims;
  DetailWindow& window = detail.window;
  window.row_dimension = detail.map.rows.dimension;
  window.column_dimension = detail.map.columns.dimension;
  const auto around = [&](int dimension, int64_t most, int64_t& first, int64_t& count) {
    first = 0;
    count = 1;
    if (dimension < 0) return;
    const auto i = static_cast<size_t>(dimension);
    count = std::min(most, dims[i]);
    first = std::clamp<int64_t>(detail.worst[i] - most / 2, 0, dims[i] - count);
  };
  around(window.row_dimension, kWindowRows, window.first_row, window.rows);
  around(window.column_dimension, kWindowColumns, window.first_column, window.columns);
  Scratch scratch;
  std::vector<int64_t> at = detail.worst;
  for (const Operand* side : {&mine, &golden}) {
    scratch.forget();
    std::vector<double>& out = side == &mine ? window.mine : window.golden;
    for (int64_t row = 0; row < window.rows; ++row)
      for (int64_t column = 0; column < window.columns; ++column) {
        if (window.row_dimension >= 0) at[static_cast<size_t>(window.row_dimension)] = window.first_row + row;
        if (window.column_dimension >= 0)
          at[static_cast<size_t>(window.column_dimension)] = window.first_column + column;
        int64_t number = 0;
        for (size_t i = 0; i < dims.size(); ++i) number = number * dims[i] + at[i];
        ASSAY_TRY(const Block block, side->block(number, 1, scratch));
        to_f64(block.dtype, block.data, 1, &out.emplace_back());
      }
  }
  return {};
}

// The dimensions of the map: those asked for, or the last two.
std::pair<int, int> map_dimensions(const Shape& shape, const DetailOptions& options) {
  const auto rank = static_cast<int>(shape.dims.size());
  const auto is_there = [&](int dimension) { return dimension >= 0 && dimension < rank; };
  if (rank == 0) return {-1, -1};
  int columns = is_there(options.map_columns) ? options.map_columns : rank - 1;
  if (!is_there(options.map_columns) && columns == options.map_rows) --columns;
  int rows = is_there(options.map_rows) ? options.map_rows : rank - 2;
  if (!is_there(options.map_rows) && rows == columns) rows = rank - 1;
  return {rows == columns ? -1 : rows, std::max(columns, 0)};
}

int64_t bytes_of(const Comparison& row) {
  int64_t bytes = 0;
  for (const Side side : {Side::mine, Side::golden})
    if (row.of(side).meta) bytes += row.of(side).meta->byte_size();
  return bytes;
}

}  // namespace

Result<Detail> look_closely(const Operand& mine, const Operand& golden, const DetailOptions& options,
                            PairScratch& scratch, Progress& progress, const PairSums* known) {
  scratch.forget();
  const Shape& shape = mine.meta.shape;
  Gathered gathered;
  if (known == nullptr || known->count != shape.count() * components(mine.meta.dtype)) {
    ASSAY_TRY(gathered, gather_parallel(mine, golden, {kSumsOfDetail}, scratch, progress));
    known = &gathered.pair;
  }
  Detail detail;
  if (known->count == 0) {
    detail.shape = shape;
    detail.mine = mine.meta.dtype;
    detail.golden = golden.meta.dtype;
    return detail;
  }
  const auto [rows, columns] = map_dimensions(shape, options);
  const detail::Walk walk(shape, components(mine.meta.dtype), rows, columns);
  const detail::DetailStart start = detail::start_of(*known);
  const int64_t lost_before = lost_pages();
  auto sums = detail_pass(mine, golden, walk, start, true, progress);
  // A file shrank while it was mapped: read it again, and let the read say what is missing.
  if (lost_pages() != lost_before) sums = detail_pass(mine, golden, walk, start, false, progress);
  if (!sums) return tl::unexpected<Error>(sums.error());
  const detail::Looked looked{
      walk, start, *sums, detail::profiles_of(walk, *sums, known->count), mine.meta.dtype, golden.meta.dtype,
      shape};
  detail = draw(looked);
  ASSAY_TRY_DO(read_window(mine, golden, detail));
  detail.diagnoses = diagnose(looked, detail);
  if (detail::explains_all(detail.diagnoses) || detail.nonfinite_apart > 0) return detail;
  ASSAY_TRY(auto rearranged, find_rearrangement(mine, golden, looked));
  if (rearranged) detail.diagnoses = {std::move(*rearranged)};  // where the errors are follows from it
  return detail;
}

bool DetailBudget::take(const Comparison& row, double relative) {
  if (rows <= 0 || row.status != Status::compared || row.basis != Basis::data) return false;
  const bool differs = row.near != nullptr || row.is_nonfinite_apart;
  if (!differs) return false;
  if (only_failed && row.verdict.level != Level::fail) return take_passing(row, relative);
  if (bytes <= 0) return false;
  --rows;
  bytes -= bytes_of(row);
  return true;
}

bool DetailBudget::take_passing(const Comparison& row, double relative) {
  constexpr double kClearly = 1.5;
  constexpr int64_t kCheap = int64_t{1} << 18;  // bytes: a look that costs nothing beside opening the file
  if (passing_rows <= 0 || row.verdict.level != Level::pass) return false;
  const int64_t size = bytes_of(row);
  if (size > passing_bytes) return false;
  // Of what is cheap the first that are worse by anything; the fewer are left, the clearer it has to be.
  const double used = 1 - static_cast<double>(passing_rows) / static_cast<double>(kPassingDetails);
  const double factor = size <= kCheap ? 1 + (kClearly - 1) * used * used : kClearly;
  if (!(relative > factor * worst_passing)) return false;
  --passing_rows;
  passing_bytes -= size;
  worst_passing = relative;
  return true;
}

}  // namespace assay

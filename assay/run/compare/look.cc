#include "assay/run/compare/look.h"

#include "assay/metric/number_range.h"
#include "assay/run/compare/gather_bands.h"
#include "assay/run/compare/row_facts.h"

#include <cmath>

namespace assay {
namespace {

void tell(NumberRange range, const MetricPlan& metrics, Comparison& row) {
  row.status = Status::compared;
  row.range = std::make_shared<const NumberRange>(std::move(range));
  Gathered gathered;
  gathered.range = row.range;
  row.metrics = metrics.finish(gathered);
}

StatisticSet stated_statistics(const Stated& stated) {
  StatisticSet set = 0;
  for (size_t i = 0; i < kStatistics.size(); ++i)
    if (number_of(stated.*kStatistics[i].of)) set |= static_cast<StatisticSet>(1u << i);
  return set;
}

// A dump that says of a tensor what its data do not show holds another tensor, or none.
bool is_denied_by(const NumberRange& range, const Comparison& row) {
  const Stated* const stated = row.mine.item->stated;
  if (stated == nullptr || !range.is_finite() || range.count == 0) return false;
  const auto said = stated_range(*stated, nullptr);
  return said && !said->is_finite();
}

void look_at_statistics(const MetricPlan& metrics, Comparison& row) {
  const Stated* const stated = row.mine.stated();
  const TensorMeta* const meta = row.mine.meta ? &*row.mine.meta : nullptr;
  if (stated == nullptr || is_argument(row.mine)) return;
  if (const std::string why = impossible_statistics(*stated, meta); !why.empty()) {
    row.status = Status::unreadable;
    row.note = fmt::format("{}: no tensor has such statistics, the dump is wrong", why);
    return;
  }
  auto range = stated_range(*stated, meta);
  if (!range) return;
  row.basis = Basis::stated;
  row.evidence = meta != nullptr && meta->shape.count() == 0 ? Evidence::empty : Evidence::statistics;
  row.statistics = stated_statistics(*stated);
  row.note.clear();  // that it has no data
  tell(std::move(*range), metrics, row);
}

// A number that is no tensor. Where it is finite, or a text, nobody asks for it.
void look_at_number(const MetricPlan& metrics, Comparison& row) {
  const Stated& stated = *row.mine.stated();
  const auto number =
      stated.dtype.find("str") == std::string_view::npos ? number_of(stated.max) : std::nullopt;
  const Nonfinite* const counts = stated.nonfinite;  // of a list of numbers
  NumberRange range;
  range.is_stated = true;
  range.count = 1;
  if (counts != nullptr) {
    range.nans = counts->nans;
    range.plus_infs = counts->infs;
  } else if (number && !std::isfinite(*number)) {
    ++(std::isnan(*number) ? range.nans : *number > 0 ? range.plus_infs : range.minus_infs);
  }
  if (range.is_finite()) return;
  row.basis = Basis::stated;
  tell(std::move(range), metrics, row);
}

}  // namespace

void look_at(const OperandPtr& data, const MetricPlan& metrics, Progress& progress, Comparison& row) {
  row.is_excused = row.pair.why == Why::not_written || is_argument(row.mine);
  if (is_argument(row.mine) && row.status != Status::unreadable) look_at_number(metrics, row);
  if (row.is_excused || row.status == Status::unreadable) return;
  if (row.status == Status::no_data) return look_at_statistics(metrics, row);
  auto range = gather_bands<NumberRange>(data->meta.shape.count(), [&](int64_t first, int64_t count) {
    Scratch scratch;
    return gather_range(*data, first, count, scratch);
  });
  if (!range) {
    row.status = Status::unreadable;
    row.note = range.error().message;
    return;
  }
  progress.done(data->meta.byte_size());
  if (is_denied_by(*range, row)) {
    row.status = Status::unreadable;
    row.note = fmt::format("{}: all its elements are finite, the dump says of it that they are not",
                           display(row.mine.file));
    return;
  }
  row.basis = Basis::data;
  row.evidence = range->count == 0 ? Evidence::empty
                 : is_range(row)   ? Evidence::extremes
                                   : Evidence::elements;
  tell(std::move(*range), metrics, row);
}

}  // namespace assay

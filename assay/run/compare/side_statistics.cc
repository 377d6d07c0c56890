#include "assay/run/compare/side_statistics.h"

#include "assay/metric/numpy_stats.h"

namespace assay {

void add_statistics_as_f32(const OperandPtr& data, SideFacts& side, Comparison& row) {
  if (data == nullptr || side.measured) return;
  const auto sums = gather_one(*data);
  if (sums) {
    side.measured = numpy_statistics(*sums, is_complex(data->meta.dtype) ? data->meta.dtype : DType::f32);
    return;
  }
  row.status = Status::unreadable;
  row.note = sums.error().message;
}

void take_statistics_as_f32(const PairSums& pair, Comparison& row) {
  if (pair.finite != pair.count || pair.count == 0 || pair.scale != 0) return;
  const auto of_side = [&](const SideSums& sums) {
    OneSide side;
    side.count = side.finite = pair.count;
    side.min = sums.min;
    side.max = sums.max;
    side.sum = sums.sum;
    side.sum_squares = sums.sum_squares;
    return numpy_statistics(side, DType::f32);
  };
  row.mine.measured = of_side(pair.mine);
  row.golden.measured = of_side(pair.golden);
}

}  // namespace assay

#include "assay/judge/native_bounded.h"

#include <fmt/format.h>

#include <cmath>

namespace assay {
namespace {

// A finer type than the operator writes hides nothing: elements are held against the steps of the coarser.
bool loses(DType mine, DType written) {
  if (is_real(mine) != is_real(written)) return true;
  return is_real(mine) && coarser(mine, written) != written;
}

}  // namespace

Verdict judge_bounded(const Comparison& row) {
  const Bounded& found = *row.bounded;
  if (found.unknown == found.count)
    return {Level::ignored, row.note.empty() ? "nobody can tell what any element should be" : row.note};
  if (row.mine.meta && loses(row.mine.meta->dtype, found.dtype))
    return {Level::fail, fmt::format("it is of type {}, where its operator writes {}",
                                     name(row.mine.meta->dtype), name(found.dtype))};
  if (found.beyond > 0) {
    const std::string where =
        row.mine.meta ? coordinates(row.mine.meta->shape, found.worst_at) : fmt::format("{}", found.worst_at);
    const std::string how_far =
        std::isfinite(found.worst)
            ? fmt::format("{:.3g} times what rounding explains ({:.3g})", found.worst, found.bound)
            : std::string("no rounding explains that");
    return {Level::fail,
            fmt::format("{} of {} elements are wrong; at {} {:.9g}, expected {:.9g}: {}", found.beyond,
                        found.count - found.unknown, where, found.mine, found.expected, how_far)};
  }
  if (row.nothing_finite)
    return {Level::ignored,
            "every element is NaN or infinite, as it should be: there is no number to compare"};
  return {};
}

}  // namespace assay

#include "assay/judge/introduced.h"

#include <fmt/format.h>

#include <cmath>

namespace assay {
namespace {

// Independent errors add in squares: the larger half of the square.
constexpr double kMain = 0.5;

}  // namespace

Introduced introduced_in(const Comparison& row) {
  if (row.rerun == nullptr || !row.rerun->was_run()) return Introduced::unknown;
  if (!row.rerun->is_introduced()) return Introduced::no;
  const double added = row.rerun->introduced, all = row.rerun->measured;
  return std::isfinite(all) && added * added < kMain * all * all ? Introduced::in_part : Introduced::in_main;
}

void tell_rerun(Comparison& row) {
  if (row.rerun == nullptr || !row.rerun->was_run()) return;
  const Rerun& rerun = *row.rerun;
  const std::string where = rerun.rank.empty() ? "" : fmt::format(" on {}", rerun.rank);
  std::string said;
  if (rerun.is_introduced())
    said = fmt::format(
        "introduced here: run again on what it was given{}, {} is rel_l2 {:.3g} off, {:.3g} times what "
        "rounding "
        "explains",
        where, rerun.computed, rerun.introduced, rerun.found.worst);
  else if (row.verdict.level == Level::fail)
    said = fmt::format("inherited: run again on what it was given{}, {} gives this", where, rerun.computed);
  if (said.empty()) return;
  if (row.verdict.level == Level::fail)
    row.verdict.reason += "; " + said;
  else
    row.add_note(said);
}

}  // namespace assay

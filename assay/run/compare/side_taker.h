// One side of a pair, from the item of a dump to what can be compared.
#pragma once

#include "assay/dump/layout.h"
#include "assay/model/outcome.h"
#include "assay/run/compare/load.h"
#include "assay/run/compare/plan_runner.h"
#include "assay/run/compare/prepare.h"
#include "assay/run/compare/side_statistics.h"

namespace assay {

class SideTaker {
 public:
  // All outlive this.
  SideTaker(const Matched& matched, Loader& loader, SideStatistics statistics, const Prepare& prepare,
            const GoldenOptions& golden, bool checks_claims)
      : matched_(matched),
        loader_(loader),
        golden_(matched.frames, loader, golden, prepare),
        plans_(matched.frames, loader, &golden_),
        statistics_(statistics),
        prepare_(prepare),
        checks_claims_(checks_claims && !prepare) {}

  // What opening a file has to remark on is logged, unless that was done before.
  enum class Remarking : uint8_t { done, left };
  // Opens it, says in the row what it is, and carries out its plan. Nothing where that cannot be: then the
  // row has a status and a reason, of both sides the first, unless what comes second is worse. Any thread.
  std::optional<Made> take(Side stands_for, Comparison& row, Remarking remarking = Remarking::done);

 private:
  Result<Made> make(Side stands_for, Side side, const ItemId& id, const Pair& pair, OperandPtr loaded) const;

  const Matched& matched_;
  Loader& loader_;
  GoldenSteps golden_;
  const PlanRunner plans_;
  const SideStatistics statistics_;
  const Prepare& prepare_;
  const bool checks_claims_;  // a file that is not what the dump says of it is refused
};

}  // namespace assay

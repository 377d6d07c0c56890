// Carries out what a matcher planned: makes of the tensors of a side what is compared.
#pragma once

#include "assay/run/compare/golden_step.h"
#include "assay/run/compare/load.h"
#include "assay/run/compare/made.h"

namespace assay {

class PlanRunner {
 public:
  // Both outlive this.
  PlanRunner(const Indexed& frames, Loader& loader, GoldenSteps* golden = nullptr)
      : frames_(frames), loader_(loader), golden_(golden) {}

  // An item as it stands, with what other ranks hold of it.
  Spread spread(Side side, const ItemId& id, OperandPtr own) const;
  // `first`: the first source of the plan, as it was loaded. An error where another has no data.
  Result<Made> run(const Plan& plan, OperandPtr first) const;

 private:
  Result<Spread> load(const PlanSource& source) const;
  Result<Made> run_golden(const Plan& plan, const OperandPtr& output) const;

  const Indexed& frames_;
  Loader& loader_;
  GoldenSteps* const golden_;  // null: no plan has such a step
};

}  // namespace assay

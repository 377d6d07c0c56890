// The step of a plan that runs a golden operator.
#pragma once

#include "assay/golden/golden.h"
#include "assay/run/compare/load.h"
#include "assay/run/compare/prepare.h"

#include <map>
#include <mutex>

namespace assay {

struct GoldenOptions {
  int64_t memory = int64_t{2} << 30;  // that all operators at work may hold together
  Soc soc = Soc::unknown;
  // Parameters of operators by their ids, for those of which the dump has none. Null: none.
  std::shared_ptr<const std::map<std::string, OpParams>> params = {};
};

// Of each input of an operator: which of its shards is of which rank.
using RanksOfInputs = std::vector<std::map<int, size_t>>;

// Any thread. An operator runs once, however many of its outputs are asked for.
class GoldenSteps {
 public:
  // All outlive this, but for the options. options.memory: what one operator may hold.
  GoldenSteps(const Indexed& frames, Loader& loader, const GoldenOptions& options, const Prepare& prepare)
      : frames_(frames), loader_(loader), options_(options), prepare_(prepare) {}

  // What the operator that `plan` begins with an output of should have written there.
  Result<Expected> run(const Plan& plan, const PlanStep& step);

 private:
  Result<std::shared_ptr<const GoldenOutputs>> outputs_of(const Plan& plan, const PlanStep& step);
  Result<GoldenOutputs> compute(const Plan& plan) const;
  const OpParams& params_of(const ItemId& output) const;
  Result<OperandPtr> prepared(const ItemId& input, OperandPtr data) const;
  RanksOfInputs ranks_of_inputs(const Plan& plan) const;
  Result<std::vector<OperandPtr>> inputs_of_rank(const Plan& plan, const RanksOfInputs& ranks,
                                                 int rank) const;

  const Indexed& frames_;
  Loader& loader_;
  const GoldenOptions options_;
  const Prepare& prepare_;
  // Of operators with several outputs, until the last one was asked for.
  struct Kept {
    std::shared_ptr<const GoldenOutputs> outputs;
    int64_t wanted = 0;
  };
  std::mutex guard_;
  std::map<std::pair<int32_t, int32_t>, Kept> kept_;  // by frame and node
};

}  // namespace assay

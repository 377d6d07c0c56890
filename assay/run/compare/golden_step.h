// The step of a plan that runs a golden operator.
#pragma once

#include "assay/golden/golden.h"
#include "assay/run/compare/load.h"
#include "assay/run/compare/ops_of_ranks.h"
#include "assay/run/compare/prepare.h"

#include <map>
#include <mutex>
#include <tuple>

namespace assay {

struct GoldenOptions {
  int64_t memory = int64_t{2} << 30;  // that all operators at work may hold together
  Soc soc = Soc::unknown;
  // Parameters of operators by their ids, for those of which the dump has none. Null: none.
  std::shared_ptr<const std::map<std::string, OpParams>> params = {};
  std::shared_ptr<KnownRanks> ranks = std::make_shared<KnownRanks>();  // of all sections
};

// Any thread. An operator runs once, however many of its outputs are asked for.
class GoldenSteps {
 public:
  static constexpr int32_t kOwnRank = -1;

  // All outlive this, but for the options. options.memory: what one operator may hold.
  GoldenSteps(const Indexed& frames, Loader& loader, const GoldenOptions& options, const Prepare& prepare)
      : frames_(frames),
        loader_(loader),
        options_(options),
        ranks_(frames, loader, prepare, *options_.ranks, options.memory),
        prepare_(prepare) {}

  // What the operator that `plan` begins with an output of should have written there.
  Result<Expected> run(const Plan& plan, const PlanStep& step) { return run_on(kOwnRank, plan, step); }
  // … on one of the ranks whose tensors stand for one item (Item::shards). What goes over ranks is not run.
  Result<Expected> run_on(int32_t rank, const Plan& plan, const PlanStep& step);
  // A tensor as that rank has it.
  Result<OperandPtr> load(int32_t rank, const ItemId& item);
  // An input was dumped after the operator ran, and holds what it gave: it worked in place, and what it was
  // given is lost.
  Result<bool> has_overwritten_input(int32_t rank, const Plan& plan, const Operand& output);
  // What is kept of operators of which not every output was asked for.
  void forget();

 private:
  Result<std::shared_ptr<const GoldenOutputs>> outputs_of(int32_t rank, const Plan& plan,
                                                          const PlanStep& step);
  Result<GoldenOutputs> compute(int32_t rank, const Plan& plan);
  bool is_torch_call(const Plan& plan) const;  // and no operator of ATB
  const OpParams& params_of(int32_t rank, const ItemId& output);

  const Indexed& frames_;
  Loader& loader_;
  const GoldenOptions options_;
  const OpsOfRanks ranks_;
  const Prepare& prepare_;
  // Of operators with several outputs, until the last one was asked for.
  struct Kept {
    std::shared_ptr<const GoldenOutputs> outputs;
    int64_t wanted = 0;
  };
  std::mutex guard_;
  using Operator = std::tuple<int32_t, int32_t, int32_t>;  // frame, node, rank
  std::map<Operator, Kept> kept_;
  std::map<Operator, OpParams> params_;  // of frames that were indexed without
};

}  // namespace assay

// What collectives share: the ranks, what they were given, and what that comes to.
#pragma once

#include "assay/golden/golden.h"

namespace assay {

constexpr int64_t kMostRanks = 65536;

struct Ranks {
  int own = 0, size = 0, root = 0;
};
Result<Ranks> ranks_of(const GoldenCall& call);

// What a rank was given: this one, or another.
Result<std::vector<OperandPtr>> inputs_of_rank(const GoldenCall& call, int rank, int own);

enum class Fold { sum, product, largest, smallest };
Result<Fold> fold_of(const GoldenCall& call, std::string_view key);

// What tensors of one type and shape come to, element by element. Precondition: there is one at least.
Result<Expected> folded(const GoldenCall& call, const std::vector<OperandPtr>& inputs, Fold fold);

// ----- shares of any size (collectives_by_count.cc)
Result<GoldenOutputs> golden_all_gather_v(const GoldenCall& call);
Result<GoldenOutputs> golden_all_to_all_v(const GoldenCall& call);
Result<GoldenOutputs> golden_all_to_all_vv2(const GoldenCall& call);
Result<GoldenOutputs> golden_reduce_scatter_v(const GoldenCall& call);

// ----- from one rank to another (receive.cc)
Result<GoldenOutputs> golden_send(const GoldenCall& call);
Result<GoldenOutputs> golden_receive(const GoldenCall& call);

}  // namespace assay

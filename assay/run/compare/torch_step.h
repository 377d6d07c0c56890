// Calls of torch functions in dumps of msprobe and FX, run again.
#pragma once

#include "assay/golden/torch_functions.h"
#include "assay/match/ops/golden_op.h"
#include "assay/model/pairing.h"

#include <functional>

namespace assay {

// As plans_of_outputs() for a node that is such a call: what runs it again, for each of its outputs.
std::vector<OutputPlan> plans_of_torch_call(const Frame& frame, int32_t frame_number, int32_t node);

using LoadItem = std::function<Result<OperandPtr>(const ItemId& item)>;

// The call that gave the output which `plan` begins with, from the tensors and numbers of the dump.
Result<TorchCall> torch_call_of(const Frame& frame, const ItemId& output, const LoadItem& load);

}  // namespace assay

// The operators whose elements only change their place; moves.cc lists them.
#pragma once

#include "assay/golden/golden.h"

namespace assay {

// ----- fills.cc: elements that take the place of others
Result<GoldenOutputs> golden_fill(const GoldenCall& call);
Result<GoldenOutputs> golden_where(const GoldenCall& call);
Result<GoldenOutputs> golden_set_value(const GoldenCall& call);

// ----- ragged.cc: samples of different lengths, padded and packed
Result<GoldenOutputs> golden_gen_attention_mask(const GoldenCall& call);
Result<GoldenOutputs> golden_pad_with_hidden_state(const GoldenCall& call);
Result<GoldenOutputs> golden_unpad_with_hidden_state(const GoldenCall& call);
Result<GoldenOutputs> golden_pad(const GoldenCall& call);
Result<GoldenOutputs> golden_unpad(const GoldenCall& call);

}  // namespace assay

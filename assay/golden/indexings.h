// The operators that find their places in other tensors; indexings.cc lists them.
#pragma once

#include "assay/golden/golden.h"

namespace assay {

Result<GoldenOutputs> golden_index_add(const GoldenCall& call);          // index_add.cc
Result<GoldenOutputs> golden_scatter_elements(const GoldenCall& call);   // index_add.cc
Result<GoldenOutputs> golden_group_topk(const GoldenCall& call);         // group_topk.cc
Result<GoldenOutputs> golden_gating(const GoldenCall& call);             // gating.cc
Result<GoldenOutputs> golden_kv_cache(const GoldenCall& call);           // caches.cc
Result<GoldenOutputs> golden_reshape_and_cache(const GoldenCall& call);  // caches.cc
Result<GoldenOutputs> golden_block_copy(const GoldenCall& call);         // caches.cc

}  // namespace assay

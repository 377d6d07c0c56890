// Tensors that were laid flat behind each other and cut into as many pieces as there are ranks, wherever a
// tensor ends: FSDP's _flat_param, the groups of DeepSpeed's ZeRO; and those whose rows were shared out
// unevenly.
#pragma once

#include "assay/match/alike/contents.h"
#include "assay/match/pairing_builder.h"

namespace assay {

// A row for each tensor of the other side. Where its elements lie is told by the sizes, and shown by a few of
// them.
void join_flat_shards(PairingBuilder& builder, const Contents& contents);

}  // namespace assay

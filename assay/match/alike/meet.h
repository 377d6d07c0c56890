// Finds partners for what names alone could not pair: by names without their accidents, then by content.
#pragma once

#include "assay/match/alike/contents.h"
#include "assay/match/pairing_builder.h"

namespace assay {

// Names that are equal but for prefixes, files and separators, where each side has them once. Reads no data.
void join_alike_names(PairingBuilder& builder);

// By the data: equal ones, parts and shares of others, transposed ones; and what lies like its neighbours.
Result<void> join_by_content(PairingBuilder& builder, const Contents& contents, Remarks& remarks);

// What to do about tensors that are left on both sides: the likest names, and the flag that would pair them.
std::optional<std::string> hint_of_names(const PairingBuilder& builder);

}  // namespace assay

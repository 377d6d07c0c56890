// Finds partners for what names alone could not pair: by names without their accidents, then by content.
#pragma once

#include "assay/match/alike/contents.h"
#include "assay/match/alike/effort.h"
#include "assay/match/pairing_builder.h"

namespace assay {

enum class NamesThatMeet : uint8_t { equal, alike, or_content };

// Names that are equal but for prefixes, files and separators, where each side has them once. Reads no data.
// contents: what one rank of several has is left to join_known_names, where it is of another size; answers
// whether anything was. Null: it is not.
bool join_alike_names(PairingBuilder& builder, const Contents* contents);

// Names that are known to mean the same ("wq", "q_proj", a part of "qkv_proj"), and those of ranks: a few
// elements say how the tensors lie in each other.
void join_known_names(PairingBuilder& builder, const Contents& contents);

// By the data: equal ones, parts and shares of others, transposed ones; and what lies like its neighbours.
// Nothing at all where that spends the effort.
Result<void> join_by_content(PairingBuilder& builder, const Contents& contents, Effort& effort,
                             Remarks& remarks);

// What to do about tensors that are left on both sides: the likest names, and the flag that would pair them.
// names: which were looked at already.
std::optional<std::string> hint_of_names(const PairingBuilder& builder, NamesThatMeet names);

}  // namespace assay

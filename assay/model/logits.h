// Items that hold the logits of a token, where their dump says so.
#pragma once

#include "assay/model/dump.h"

namespace assay {

// Names of the facts of an item.
inline constexpr std::string_view kLogitsKey = "key", kLogitsToken = "token";
bool are_logits(const Item& item);

}  // namespace assay

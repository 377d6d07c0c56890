// Numbers and text that files hold beside their tensors (Given::beside).
#pragma once

#include "assay/match/pairing_builder.h"

namespace assay {

bool is_value(const Item& item);

// They meet by name, and nothing that tensors do concerns them: they count as joined from now on.
void join_values(PairingBuilder& builder);

// For a matcher that does not look at them: takes them out of the frames. How many there were.
int64_t drop_values(std::vector<Frame>& frames);

}  // namespace assay

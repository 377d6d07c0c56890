// mapping.csv: what names of digits stand for, where names were too long for the file system. A replacement
// has a new name, and so needs a row there.
#pragma once

#include "assay/run/compact/file.h"

namespace assay {

struct Refusal {
  std::string why;
  bool may_pass = false;  // though the source does not change
};

// Why that row cannot be added. Nothing where it can, or is not needed.
std::optional<Refusal> refuse_by_mapping(const fs::path& source, const fs::path& replacement);

// Where mapping.csv beside the source says what its digits stand for, it says so of the replacement too.
// ErrorKind::mismatch, without a name before it: the source should be kept.
Result<void> note_long_name(const fs::path& source, const fs::path& replacement);

}  // namespace assay

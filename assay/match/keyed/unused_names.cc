#include "assay/match/keyed/unused_names.h"

#include "assay/base/text.h"
#include "assay/support/log.h"

namespace assay {

void UnusedNames::add(Side side, std::string_view name, bool is_used) {
  constexpr size_t kShown = 3;
  ++names_;
  if (is_used) return;
  if (unused_++ < kShown)
    some_ += fmt::format("{}{} of {}", unused_ == 1 ? "" : ", ", printable(name), name_of(side));
  else if (unused_ == kShown + 1)
    some_ += ", …";
}

void UnusedNames::warn() const {
  if (unused_ > 0)
    log::warn("{} of the {} names of the {} mapping {} not in the dump: {}", unused_, names_, mapping_,
              unused_ == 1 ? "is" : "are", some_);
}

}  // namespace assay

#include "assay/match/keyed/entry.h"

#include "assay/match/frames.h"
#include "assay/match/keyed/keyed.h"

namespace assay {
namespace {

Result<Pairing> match_entries(const Indexed& frames, const MatchOptions& options) {
  PairingBuilder builder(frames);
  Keys keys(builder);
  return match_keys(frames, builder, keys, options, false);
}

}  // namespace

const Matcher entry_matcher = {"entry", sections_by_at, match_entries};

}  // namespace assay

#include "assay/match/keyed/position.h"

#include "assay/match/frames.h"
#include "assay/match/pairing_builder.h"

#include <algorithm>

namespace assay {
namespace {

Result<Pairing> match_by_position(const Indexed& frames, const MatchOptions&) {
  PairingBuilder builder(frames);
  const size_t common = std::min(builder.items(Side::mine).size(), builder.items(Side::golden).size());
  for (size_t i = 0; i < common; ++i) builder.join(i, i, Why::same_position);
  return builder.finish();
}

}  // namespace

const Matcher position_matcher = {"position", sections_by_at, match_by_position};

}  // namespace assay

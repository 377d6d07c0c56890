#include "assay/match/keyed/position.h"

#include "assay/match/frames.h"
#include "assay/match/keyed/values_beside.h"
#include "assay/match/pairing_builder.h"

#include <algorithm>

namespace assay {
namespace {

Result<Pairing> match_by_position(const Indexed& frames, const MatchOptions&) {
  PairingBuilder builder(frames);
  join_values(builder);
  const auto tensors = [&](Side side) {
    std::vector<size_t> positions;
    for (size_t i = 0; i < builder.size(side); ++i)
      if (!builder.is_joined(side, i)) positions.push_back(i);
    return positions;
  };
  const std::vector<size_t> mine = tensors(Side::mine), golden = tensors(Side::golden);
  for (size_t k = 0; k < std::min(mine.size(), golden.size()); ++k)
    builder.join(mine[k], golden[k], Why::same_position);
  return builder.finish();
}

}  // namespace

const Matcher position_matcher = {"position", sections_by_at, match_by_position, {.values = true}};

}  // namespace assay

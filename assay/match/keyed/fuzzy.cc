#include "assay/match/keyed/fuzzy.h"

#include "assay/match/frames.h"

namespace assay {
namespace {

Result<Pairing> match(const Indexed& frames, const MatchOptions& options) {
  PairingBuilder builder(frames);
  const Keys keys(builder);
  return match_fuzzily(frames, builder, keys, options);
}

}  // namespace

Result<Pairing> match_fuzzily(const Indexed& frames, PairingBuilder& builder, const Keys& keys,
                              const MatchOptions& options) {
  for (size_t m = 0; m < keys.key.size(); ++m)
    if (keys.key[m].empty()) builder.explain(m, keys.why[m]);
  if (options.join_fuzzily)
    options.join_fuzzily(frames, builder, keys);
  else
    join_aligned(builder, keys);
  return builder.finish();
}

const Matcher fuzzy_matcher = {"fuzzy", sections_by_at, match};

}  // namespace assay

#include "assay/match/ops/op_sections.h"

#include "assay/match/frames.h"
#include "assay/support/log.h"

#include <algorithm>
#include <set>

namespace assay {
namespace {

std::set<int> ranks_of(const Dump& dump) {
  std::set<int> ranks;
  for (const FrameInfo& frame : dump.frames) ranks.insert(frame.at.rank);
  return ranks;
}

// Of each token the first rank that has it, which is the first of all unless that one was cut short.
Dump first_rank(const Dump& dump, const std::set<int>& ranks) {
  Dump first{dump.layout, dump.root, {}};
  for (const int rank : ranks)
    for (FrameInfo frame : dump.frames) {
      if (frame.at.rank != rank) continue;
      frame.at.rank = -1;
      if (std::ranges::find(first.frames, frame.at, &FrameInfo::at) != first.frames.end()) continue;
      frame.stands_for_ranks = ranks.size() > 1;
      first.frames.push_back(std::move(frame));
    }
  return first;
}

bool any_has_both(const std::vector<Section>& sections) {
  return std::any_of(sections.begin(), sections.end(),
                     [](const Section& section) { return !section.mine.empty() && !section.golden.empty(); });
}

// The warm-up runs one of two models as a rule: it stands against the first token, which does too.
std::vector<Section> each_with_each(const Dump& mine, const Dump& golden) {
  std::vector<Section> sections;
  for (const FrameInfo& own : mine.frames)
    for (const FrameInfo& other : golden.frames) {
      const bool is_warm_up = own.at.part == kWarmUp || other.at.part == kWarmUp;
      if (!is_warm_up || sections.empty()) sections.push_back({own.at, {own}, {other}});
    }
  return sections;
}

}  // namespace

Result<std::vector<Section>> sections_by_token(const Dump& mine, const Dump& golden,
                                               const MatchOptions& options) {
  const std::set<int> mine_ranks = ranks_of(mine), golden_ranks = ranks_of(golden);
  std::vector<Section> sections;
  if (mine_ranks.size() == golden_ranks.size()) {
    MatchOptions in_order = options;
    in_order.frames_in_order = mine_ranks.size() > 1;
    ASSAY_TRY(sections, sections_by_at(mine, golden, in_order));
  } else {
    log::info("{} ranks of mine against {} of golden: tensors that are spread over ranks are joined",
              mine_ranks.size(), golden_ranks.size());
    ASSAY_TRY(sections,
              sections_by_at(first_rank(mine, mine_ranks), first_rank(golden, golden_ranks), options));
  }
  if (options.any_tokens && !any_has_both(sections)) sections = each_with_each(mine, golden);
  return sections;
}

}  // namespace assay

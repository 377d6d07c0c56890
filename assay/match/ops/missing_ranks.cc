#include "assay/match/ops/missing_ranks.h"

#include <fmt/format.h>

#include <algorithm>

namespace assay {

void note_missing_ranks(Matched& matched) {
  const auto is_of_one_rank = [](const Frame& frame) { return frame.at.rank >= 0; };
  if (std::ranges::any_of(matched.frames.mine, is_of_one_rank)) return;
  size_t most_of_mine = 1, most_of_golden = 1;
  bool is_known = false;
  for (const PairedNode& node : matched.pairing.nodes)
    for (const Pair& pair : node.pairs) {
      if (!pair.mine || !pair.golden || pair.golden_side() != Side::golden) continue;
      const Item &mine = matched.item(Side::mine, *pair.mine),
                 &golden = matched.item(Side::golden, *pair.golden);
      most_of_mine = std::max(most_of_mine, mine.shards().size());
      most_of_golden = std::max(most_of_golden, golden.shards().size());
      const bool has_other_ranks = mine.shards().size() != golden.shards().size();
      if (!has_other_ranks || mine.meta == nullptr || golden.meta == nullptr) continue;
      if (mine.meta->shape.count() != golden.meta->shape.count()) return;
      is_known = true;
    }
  if (!is_known || most_of_mine == most_of_golden) return;
  matched.pairing.warnings.push_back(fmt::format(
      "mine has {} and golden {}, and yet no tensor of one is a part of one of the other: if both "
      "ran on as many ranks, some of them are missing",
      most_of_mine == 1 ? "1 rank" : fmt::format("{} ranks", most_of_mine), most_of_golden));
}

}  // namespace assay

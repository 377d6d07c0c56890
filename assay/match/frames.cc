#include "assay/match/frames.h"

#include "assay/base/text.h"
#include "assay/support/log.h"

#include <algorithm>
#include <map>
#include <tuple>
#include <unordered_map>

namespace assay {
namespace {

using FrameList = std::vector<const FrameInfo*>;
using Sections = std::vector<Section>;

FrameList list_of(const Dump& dump) {
  FrameList frames;
  for (const FrameInfo& frame : dump.frames) frames.push_back(&frame);
  return frames;
}

std::string key_of(const At& at, bool with_rank) {
  return fmt::format("{}/{}/{}/{}/{}", with_rank ? at.rank : -1, at.step, at.graph, at.token, at.part);
}

void sort_by_place(FrameList& frames) {
  std::stable_sort(frames.begin(), frames.end(), [](const FrameInfo* a, const FrameInfo* b) {
    const auto numbers = [](const At& at) { return std::tie(at.rank, at.step, at.graph, at.token); };
    if (numbers(a->at) != numbers(b->at)) return numbers(a->at) < numbers(b->at);
    return natural_less(a->at.part, b->at.part);
  });
}

void pair_in_order(FrameList mine, FrameList golden, Sections& sections) {
  sort_by_place(mine);
  sort_by_place(golden);
  for (size_t i = 0; i < mine.size(); ++i) sections.push_back(Section{mine[i]->at, {*mine[i]}, {*golden[i]}});
}

// Returns how many were paired; nothing is added where that is none.
size_t pair_by_place(const FrameList& mine, const FrameList& golden, bool with_rank, Sections& sections) {
  std::unordered_map<std::string, std::vector<size_t>> mine_by_at;  // positions, last one first
  for (size_t m = mine.size(); m-- > 0;) mine_by_at[key_of(mine[m]->at, with_rank)].push_back(m);
  FrameList partner(mine.size(), nullptr);
  std::vector<FrameList> leftovers(mine.size() + 1);  // by 1 + position in mine before them
  size_t last_partner = 0, paired = 0;
  for (const FrameInfo* frame : golden) {
    const auto found = mine_by_at.find(key_of(frame->at, with_rank));
    if (found == mine_by_at.end() || found->second.empty()) {
      leftovers[last_partner].push_back(frame);
      continue;
    }
    partner[found->second.back()] = frame;
    last_partner = found->second.back() + 1;
    found->second.pop_back();
    ++paired;
  }
  if (paired == 0 && mine.size() == golden.size()) return 0;

  const auto add_leftovers = [&](size_t place) {
    for (const FrameInfo* frame : leftovers[place]) sections.push_back(Section{frame->at, {}, {*frame}});
  };
  add_leftovers(0);
  for (size_t m = 0; m < mine.size(); ++m) {
    Section section{mine[m]->at, {*mine[m]}, {}};
    if (partner[m] != nullptr) section.golden.push_back(*partner[m]);
    sections.push_back(std::move(section));
    add_leftovers(m + 1);
  }
  return paired;
}

void pair_frames(const FrameList& mine, const FrameList& golden, bool with_rank, Sections& sections) {
  const size_t before = sections.size();
  if (mine.size() == 1 && golden.size() == 1) {
    pair_in_order(mine, golden, sections);
  } else if (pair_by_place(mine, golden, with_rank, sections) == 0 && sections.size() == before) {
    pair_in_order(mine, golden, sections);
    if (mine.empty()) return;
    log::warn(
        "no frame of mine was taken where one of golden was; the {} of each side are paired in order, "
        "{} with {} first",
        mine.size(), sections[before].mine[0].at.text(), sections[before].golden[0].at.text());
  }
}

std::string numbers_of(const std::map<int, FrameList>& ranks) {
  std::string text;
  for (const auto& [rank, frames] : ranks) text += (text.empty() ? "" : ", ") + std::to_string(rank);
  return text;
}

Result<Sections> pair_ranks_in_order(const Dump& mine, const Dump& golden) {
  std::map<int, FrameList> mine_ranks, golden_ranks;
  for (const FrameInfo& frame : mine.frames) mine_ranks[frame.at.rank].push_back(&frame);
  for (const FrameInfo& frame : golden.frames) golden_ranks[frame.at.rank].push_back(&frame);
  if (mine_ranks.size() != golden_ranks.size())
    return fail(ErrorKind::mismatch, "{} has {} ranks ({}), {} has {} ({}); expected as many on both sides",
                display(mine.root), mine_ranks.size(), numbers_of(mine_ranks), display(golden.root),
                golden_ranks.size(), numbers_of(golden_ranks));
  Sections sections;
  auto other = golden_ranks.begin();
  for (const auto& [rank, frames] : mine_ranks) pair_frames(frames, (other++)->second, false, sections);
  return sections;
}

}  // namespace

Result<Sections> sections_by_at(const Dump& mine, const Dump& golden, const MatchOptions& options) {
  if (options.frames_in_order) return pair_ranks_in_order(mine, golden);
  Sections sections;
  pair_frames(list_of(mine), list_of(golden), true, sections);
  return sections;
}

}  // namespace assay

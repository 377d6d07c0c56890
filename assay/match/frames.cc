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

struct Rank {
  int number;
  FrameList frames;
};
using Ranks = std::vector<Rank>;

Ranks ranks_of(const Dump& dump) {
  std::map<int, FrameList> by_number;
  for (const FrameInfo& frame : dump.frames) by_number[frame.at.rank].push_back(&frame);
  Ranks ranks;
  for (auto& [number, frames] : by_number) ranks.push_back({number, std::move(frames)});
  return ranks;
}

std::string numbers_of(const Ranks& ranks) {
  std::string text;
  for (const Rank& rank : ranks) text += (text.empty() ? "" : ", ") + std::to_string(rank.number);
  return text;
}

void sort_as_texts(Ranks& ranks) {
  const auto name = [](const Rank& rank) {
    return rank.number < 0 ? std::string() : std::to_string(rank.number);
  };
  std::sort(ranks.begin(), ranks.end(), [&](const Rank& a, const Rank& b) { return name(a) < name(b); });
}

bool is_debug(const FrameInfo& frame) { return frame.at.part.ends_with("debug"); }

// One side has nothing but values saved by hand (debug.json), the other none.
bool are_of_different_kinds(const FrameList& mine, const FrameList& golden) {
  const auto all = [](const FrameList& frames, bool debug) {
    return std::all_of(frames.begin(), frames.end(),
                       [&](const FrameInfo* frame) { return is_debug(*frame) == debug; });
  };
  return (all(mine, true) && all(golden, false)) || (all(mine, false) && all(golden, true));
}

bool is_one_file(const Dump& dump) {
  return dump.frames.size() == 1 && !dump.frames[0].paths.empty() && dump.frames[0].paths[0] == dump.root;
}

Result<Sections> pair_ranks_in_order(const Dump& mine, const Dump& golden, bool as_texts) {
  Ranks ours = ranks_of(mine), theirs = ranks_of(golden);
  if (ours.size() != theirs.size())
    return fail(ErrorKind::mismatch, "{} has {} ranks ({}), {} has {} ({}); expected as many on both sides",
                display(mine.root), ours.size(), numbers_of(ours), display(golden.root), theirs.size(),
                numbers_of(theirs));
  if (as_texts) {
    const std::string before = numbers_of(ours) + "/" + numbers_of(theirs);
    sort_as_texts(ours);
    sort_as_texts(theirs);
    if (numbers_of(ours) != numbers_of(theirs) && numbers_of(ours) + "/" + numbers_of(theirs) != before)
      log::warn(
          "ranks are paired in the order of their names, as msprobe 1.1 does: {} of mine with {} of golden",
          numbers_of(ours), numbers_of(theirs));
  }
  Sections sections;
  const bool are_files = is_one_file(mine) && is_one_file(golden);
  for (size_t i = 0; i < ours.size(); ++i) {
    const FrameList &own = ours[i].frames, &other = theirs[i].frames;
    if (!are_files && are_of_different_kinds(own, other)) {
      log::warn("{}: mine has {} only, golden {} only; they are not compared", own[0]->at.text(),
                is_debug(*own[0]) ? "debug.json" : "dump.json",
                is_debug(*other[0]) ? "debug.json" : "dump.json");
      continue;
    }
    pair_frames(own, other, false, sections);
  }
  return sections;
}

}  // namespace

Result<Sections> sections_by_at(const Dump& mine, const Dump& golden, const MatchOptions& options) {
  if (options.frames_in_order) return pair_ranks_in_order(mine, golden, options.ranks_as_texts);
  Sections sections;
  pair_frames(list_of(mine), list_of(golden), true, sections);
  return sections;
}

}  // namespace assay

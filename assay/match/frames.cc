#include "assay/match/frames.h"

#include "assay/base/text.h"
#include "assay/match/alike/name_form.h"
#include "assay/model/process.h"
#include "assay/support/log.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <array>
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
  return fmt::format("{}/{}/{}/{}/{}", with_rank ? at.rank : -1, at.step, at.graph, at.token,
                     part_within_process(at));
}

bool are_all_among(const FrameList& few, const FrameList& many) {
  return std::all_of(few.begin(), few.end(), [&](const FrameInfo* frame) {
    return std::any_of(many.begin(), many.end(), [&](const FrameInfo* other) {
      return process_of(other->at) == process_of(frame->at);
    });
  });
}

// Processes are numbered by the system, anew in every run: the frames of one place go in the order of these
// numbers, unless one side has all those of the other.
using Turns = std::unordered_map<const FrameInfo*, int>;

std::string processes_of(const FrameList& frames) {
  std::string text;
  for (const FrameInfo* frame : frames)
    text += fmt::format("{}{}", text.empty() ? "" : ", ", process_of(frame->at));
  return text;
}

Turns turns_of(const FrameList& mine, const FrameList& golden, bool with_rank) {
  std::map<std::string, std::array<FrameList, 2>> places;
  for (const FrameInfo* frame : mine) places[key_of(frame->at, with_rank)][0].push_back(frame);
  for (const FrameInfo* frame : golden) places[key_of(frame->at, with_rank)][1].push_back(frame);
  Turns turns;
  bool is_said = false;
  for (auto& [key, sides] : places) {
    const auto& [ours, theirs] = sides;
    const bool is_same_run = are_all_among(ours, theirs) || are_all_among(theirs, ours);
    for (FrameList& side : sides) {
      std::stable_sort(side.begin(), side.end(), [](const FrameInfo* a, const FrameInfo* b) {
        return process_of(a->at) < process_of(b->at);
      });
      for (size_t i = 0; i < side.size(); ++i)
        turns[side[i]] = is_same_run ? process_of(side[i]->at) : static_cast<int>(i);
    }
    if (is_same_run || std::max(ours.size(), theirs.size()) < 2 || std::exchange(is_said, true)) continue;
    log::warn(
        "processes have other numbers in each run; they are paired in their order: {} of mine with {} of "
        "golden",
        processes_of(ours), processes_of(theirs));
  }
  return turns;
}

void sort_by_place(FrameList& frames) {
  std::stable_sort(frames.begin(), frames.end(), [](const FrameInfo* a, const FrameInfo* b) {
    const auto numbers = [](const At& at) { return std::tie(at.rank, at.step, at.graph, at.token); };
    if (numbers(a->at) != numbers(b->at)) return numbers(a->at) < numbers(b->at);
    return natural_less(a->at.part, b->at.part);
  });
}

void pair_one_by_one(FrameList mine, FrameList golden, Sections& sections) {
  sort_by_place(mine);
  sort_by_place(golden);
  for (size_t i = 0; i < mine.size(); ++i) sections.push_back(Section{mine[i]->at, {*mine[i]}, {*golden[i]}});
}

// Returns how many were paired; nothing is added where that is none.
size_t pair_by_place(const FrameList& mine, const FrameList& golden, bool with_rank, Sections& sections) {
  const Turns turns = turns_of(mine, golden, with_rank);
  const auto place_of = [&](const FrameInfo* frame) {
    return std::pair(key_of(frame->at, with_rank), turns.at(frame));
  };
  std::map<std::pair<std::string, int>, std::vector<size_t>> mine_by_at;  // positions, last one first
  for (size_t m = mine.size(); m-- > 0;) mine_by_at[place_of(mine[m])].push_back(m);
  FrameList partner(mine.size(), nullptr);
  std::vector<FrameList> leftovers(mine.size() + 1);  // by 1 + position in mine before them
  size_t last_partner = 0, paired = 0;
  for (const FrameInfo* frame : golden) {
    const auto found = mine_by_at.find(place_of(frame));
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
    pair_one_by_one(mine, golden, sections);
  } else if (pair_by_place(mine, golden, with_rank, sections) == 0 && sections.size() == before) {
    pair_one_by_one(mine, golden, sections);
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

bool has_rank_folders(const Dump& dump) {
  return std::any_of(dump.frames.begin(), dump.frames.end(),
                     [](const FrameInfo& frame) { return process_of(frame.at) < 0; });
}

bool is_beside_ranks(const FrameInfo& frame, bool has_ranks) {
  return has_ranks && process_of(frame.at) >= 0;
}

Ranks ranks_of(const Dump& dump, bool has_ranks) {
  std::map<int, FrameList> by_number;
  for (const FrameInfo& frame : dump.frames)
    if (!is_beside_ranks(frame, has_ranks)) by_number[frame.at.rank].push_back(&frame);
  Ranks ranks;
  for (auto& [number, frames] : by_number) ranks.push_back({number, std::move(frames)});
  return ranks;
}

std::vector<int> list_numbers(const Ranks& ranks) {
  std::vector<int> numbers;
  for (const Rank& rank : ranks) numbers.push_back(rank.number);
  return numbers;
}

std::string numbers_of(const Ranks& ranks) { return fmt::format("{}", fmt::join(list_numbers(ranks), ", ")); }

void put_in_order(Ranks& ranks, const std::vector<int>& numbers) {
  std::sort(ranks.begin(), ranks.end(), [&](const Rank& a, const Rank& b) {
    return std::ranges::find(numbers, a.number) < std::ranges::find(numbers, b.number);
  });
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

// Processes beside ranks belong to no pair of ranks; as sections with an empty side they are counted.
void leave_out_processes(const Dump& mine, const Dump& golden, Sections& sections) {
  for (const FrameInfo& frame : mine.frames)
    if (is_beside_ranks(frame, true)) sections.push_back({frame.at, {frame}, {}});
  for (const FrameInfo& frame : golden.frames)
    if (is_beside_ranks(frame, true)) sections.push_back({frame.at, {}, {frame}});
}

bool is_one_file(const Dump& dump) {
  return dump.frames.size() == 1 && !dump.frames[0].paths.empty() && dump.frames[0].paths[0] == dump.root;
}

Result<Sections> pair_ranks_in_order(const Dump& mine, const Dump& golden, const MatchOptions& options) {
  const bool has_ranks = has_rank_folders(mine) || has_rank_folders(golden);
  Ranks ours = ranks_of(mine, has_ranks), theirs = ranks_of(golden, has_ranks);
  if (ours.size() != theirs.size())
    return fail(ErrorKind::mismatch, "{} has {} ranks ({}), {} has {} ({}); expected as many on both sides",
                display(mine.root), ours.size(), numbers_of(ours), display(golden.root), theirs.size(),
                numbers_of(theirs));
  if (options.order_ranks) {
    std::vector<int> our_numbers = list_numbers(ours), their_numbers = list_numbers(theirs);
    options.order_ranks(our_numbers, their_numbers);
    put_in_order(ours, our_numbers);
    put_in_order(theirs, their_numbers);
  }
  Sections sections;
  const bool are_files = is_one_file(mine) && is_one_file(golden);
  for (size_t i = 0; i < ours.size(); ++i) {
    const FrameList &own = ours[i].frames, &other = theirs[i].frames;
    if (are_files || !are_of_different_kinds(own, other)) {
      pair_frames(own, other, false, sections);
      continue;
    }
    for (const FrameInfo* frame : own) sections.push_back({frame->at, {*frame}, {}});
    for (const FrameInfo* frame : other) sections.push_back({frame->at, {}, {*frame}});
  }
  if (has_ranks) leave_out_processes(mine, golden, sections);
  return sections;
}

// A run of one rank has nothing but steps and parts to tell its frames apart: rank 0, no rank, a process.
bool ranks_tell_apart(const Dump& mine, const Dump& golden) {
  for (const Dump* dump : {&mine, &golden})
    for (const FrameInfo& frame : dump->frames)
      if (frame.at.rank != dump->frames[0].at.rank) return true;
  return false;
}

}  // namespace

Result<Sections> sections_by_at(const Dump& mine, const Dump& golden, const MatchOptions& options) {
  if (options.frames_in_order) return pair_ranks_in_order(mine, golden, options);
  Sections sections;
  pair_frames(list_of(mine), list_of(golden), ranks_tell_apart(mine, golden), sections);
  return sections;
}

Result<Sections> sections_of_one_dump(const Dump& mine, const Dump&, const MatchOptions&) {
  Sections sections;
  for (const FrameInfo& frame : mine.frames) sections.push_back({frame.at, {frame}, {}});
  return sections;
}

void mark_other_ranks(Matched& matched) {
  if (matched.frames.mine.size() != 1 || matched.frames.golden.size() != 1) return;
  const At &mine = matched.frames.mine[0].at, &golden = matched.frames.golden[0].at;
  const bool are_ranks = mine.rank >= 0 && golden.rank >= 0 && process_of(mine) < 0 && process_of(golden) < 0;
  if (!are_ranks || mine.rank == golden.rank) return;
  PairPlans plain;
  plain.is_other_rank = true;
  plain.note = other_ranks_note(mine.rank, golden.rank);
  const PairPlans* const shared = &matched.pairing.plans.emplace_back(std::move(plain));
  for (PairedNode& node : matched.pairing.nodes)
    for (Pair& pair : node.pairs) {
      if (!pair.mine || !pair.golden) continue;
      if (pair.plans == nullptr) {
        pair.plans = shared;
        continue;
      }
      PairPlans& own = matched.pairing.plans.emplace_back(*pair.plans);
      own.is_other_rank = true;
      own.note += (own.note.empty() ? "" : "; ") + shared->note;
      pair.plans = &own;
    }
}

}  // namespace assay

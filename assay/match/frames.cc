#include "assay/match/frames.h"

#include <unordered_map>

namespace assay {
namespace {

std::string key_of(const At& at) {
  return fmt::format("{}/{}/{}/{}/{}", at.rank, at.step, at.graph, at.token, at.part);
}

}  // namespace

Result<std::vector<Section>> sections_by_at(const Dump& mine, const Dump& golden, const MatchOptions&) {
  if (mine.frames.size() == 1 && golden.frames.size() == 1)
    return std::vector<Section>{Section{mine.frames[0].at, {mine.frames[0]}, {golden.frames[0]}}};

  std::unordered_map<std::string, std::vector<size_t>> mine_by_at;  // positions, last one first
  for (size_t m = mine.frames.size(); m-- > 0;) mine_by_at[key_of(mine.frames[m].at)].push_back(m);
  std::vector<const FrameInfo*> partner(mine.frames.size(), nullptr);
  std::vector<std::vector<const FrameInfo*>> leftovers(mine.frames.size() +
                                                       1);  // by 1 + position in mine before them
  size_t last_partner = 0;
  for (const FrameInfo& frame : golden.frames) {
    const auto found = mine_by_at.find(key_of(frame.at));
    if (found == mine_by_at.end() || found->second.empty()) {
      leftovers[last_partner].push_back(&frame);
      continue;
    }
    partner[found->second.back()] = &frame;
    last_partner = found->second.back() + 1;
    found->second.pop_back();
  }

  std::vector<Section> sections;
  const auto add_leftovers = [&](size_t place) {
    for (const FrameInfo* frame : leftovers[place]) sections.push_back(Section{frame->at, {}, {*frame}});
  };
  add_leftovers(0);
  for (size_t m = 0; m < mine.frames.size(); ++m) {
    Section section{mine.frames[m].at, {mine.frames[m]}, {}};
    if (partner[m] != nullptr) section.golden.push_back(*partner[m]);
    sections.push_back(std::move(section));
    add_leftovers(m + 1);
  }
  return sections;
}

}  // namespace assay

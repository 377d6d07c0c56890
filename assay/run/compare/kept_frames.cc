#include "assay/run/compare/kept_frames.h"

#include <fmt/format.h>

#include <utility>

namespace assay {
namespace {

// Of sections that have the same frames on both sides. No path has a zero byte in it.
std::string key_of(const Section& section) {
  std::string key;
  for (const auto* infos : {&section.mine, &section.golden}) {
    for (const FrameInfo& info : *infos) {
      key += fmt::format("{}{}{}:{}{}", info.at.text(), '\0', info.first_order, info.last_order,
                         info.stands_for_ranks ? 'r' : '-');
      for (const fs::path& path : info.paths) key += '\0' + path.native();
      key += '\n';
    }
    key += '\f';
  }
  return key;
}

int64_t items_of(const Indexed& frames) {
  int64_t items = 0;
  for (const Side side : {Side::mine, Side::golden})
    for (const Frame& frame : frames.frames(side))
      for (const Node& node : frame.nodes) items += std::ssize(node.items);
  return items;
}

}  // namespace

KeptFrames::KeptFrames(const std::vector<Section>& sections, int64_t most_items) : most_items_(most_items) {
  for (const Section& section : sections) ++to_come_[key_of(section)];
}

std::optional<Indexed> KeptFrames::take(const Section& section) {
  auto found = kept_.extract(key_of(section));
  if (found.empty()) return std::nullopt;
  items_ -= found.mapped().items;
  return std::move(found.mapped().frames);
}

bool KeptFrames::will_be_wanted(const Section& section) const {
  const auto found = to_come_.find(key_of(section));
  return found != to_come_.end() && found->second > 1;
}

void KeptFrames::give_back(const Section& section, Indexed&& frames) {
  std::string key = key_of(section);
  if (--to_come_[key] <= 0) return;  // the last that wanted them
  const int64_t items = items_of(frames);
  if (items_ + items > most_items_) return;
  items_ += items;
  kept_.emplace(std::move(key), Kept{std::move(frames), items});
}

}  // namespace assay

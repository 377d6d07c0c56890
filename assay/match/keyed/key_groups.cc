#include "assay/match/keyed/key_groups.h"

#include <algorithm>
#include <bit>
#include <functional>

namespace assay {

uint32_t Interner::number(std::string_view text) {
  const auto found = numbers_.find(text);
  if (found != numbers_.end()) return found->second;
  const auto number = static_cast<uint32_t>(texts_.size());
  texts_.push_back(pool_.keep(text));
  numbers_.emplace(texts_.back(), number);
  return number;
}

KeyGroups::KeyGroups(std::span<const std::string_view> keys)
    : slots_(std::bit_ceil(2 * std::max<size_t>(keys.size(), 1))) {
  std::vector<uint32_t> group(keys.size(), kNoGroup), sizes;
  for (size_t i = 0; i < keys.size(); ++i) {
    if (keys[i].empty()) continue;
    const uint64_t hash = std::hash<std::string_view>()(keys[i]);
    Slot& slot = slots_[slot_of(keys[i], hash)];
    if (slot.group == kNoGroup) {
      slot = {static_cast<uint32_t>(hash >> 32), static_cast<uint32_t>(key_of_.size())};
      key_of_.push_back(keys[i]);
      sizes.push_back(0);
    }
    group[i] = slot.group;
    ++sizes[group[i]];
  }
  begins_.assign(sizes.size() + 1, 0);
  for (size_t g = 0; g < sizes.size(); ++g) begins_[g + 1] = begins_[g] + sizes[g];
  positions_.resize(begins_.back());
  std::vector<uint32_t> next(begins_.begin(), begins_.end() - 1);
  for (size_t i = 0; i < keys.size(); ++i)
    if (group[i] != kNoGroup) positions_[next[group[i]]++] = static_cast<uint32_t>(i);
}

// The slot of the key, or the empty one where it would go.
size_t KeyGroups::slot_of(std::string_view key, uint64_t hash) const {
  const size_t mask = slots_.size() - 1;
  const auto upper = static_cast<uint32_t>(hash >> 32);
  size_t at = hash & mask;
  while (slots_[at].group != kNoGroup && (slots_[at].hash != upper || key_of_[slots_[at].group] != key))
    at = (at + 1) & mask;
  return at;
}

std::span<const uint32_t> KeyGroups::find(std::string_view key) const {
  if (key.empty()) return {};
  const Slot& slot = slots_[slot_of(key, std::hash<std::string_view>()(key))];
  if (slot.group == kNoGroup) return {};
  const size_t begin = begins_[slot.group];
  return std::span(positions_).subspan(begin, begins_[slot.group + 1] - begin);
}

std::vector<uint32_t> count_earlier(std::span<const std::string_view> keys) {
  std::unordered_map<std::string_view, uint32_t> seen;
  seen.reserve(keys.size());
  std::vector<uint32_t> earlier(keys.size());
  for (size_t i = 0; i < keys.size(); ++i) earlier[i] = seen[keys[i]]++;
  return earlier;
}

}  // namespace assay

#include "assay/match/key_groups.h"

namespace assay {

uint32_t Interner::number(std::string_view text) {
  const auto found = numbers_.find(text);
  if (found != numbers_.end()) return found->second;
  const auto number = static_cast<uint32_t>(texts_.size());
  texts_.push_back(pool_.keep(text));
  numbers_.emplace(texts_.back(), number);
  return number;
}

KeyGroups::KeyGroups(std::span<const std::string_view> keys) {
  constexpr uint32_t kNoGroup = static_cast<uint32_t>(-1);
  std::vector<uint32_t> group(keys.size(), kNoGroup), sizes;
  group_of_.reserve(keys.size());
  for (size_t i = 0; i < keys.size(); ++i) {
    if (keys[i].empty()) continue;
    const auto [found, is_new] = group_of_.try_emplace(keys[i], static_cast<uint32_t>(sizes.size()));
    if (is_new) sizes.push_back(0);
    group[i] = found->second;
    ++sizes[group[i]];
  }
  begins_.assign(sizes.size() + 1, 0);
  for (size_t g = 0; g < sizes.size(); ++g) begins_[g + 1] = begins_[g] + sizes[g];
  positions_.resize(begins_.back());
  std::vector<uint32_t> next(begins_.begin(), begins_.end() - 1);
  for (size_t i = 0; i < keys.size(); ++i)
    if (group[i] != kNoGroup) positions_[next[group[i]]++] = static_cast<uint32_t>(i);
}

std::span<const uint32_t> KeyGroups::find(std::string_view key) const {
  const auto found = group_of_.find(key);
  if (found == group_of_.end()) return {};
  const size_t begin = begins_[found->second];
  return std::span(positions_).subspan(begin, begins_[found->second + 1] - begin);
}

std::vector<uint32_t> count_earlier(std::span<const std::string_view> keys) {
  std::unordered_map<std::string_view, uint32_t> seen;
  seen.reserve(keys.size());
  std::vector<uint32_t> earlier(keys.size());
  for (size_t i = 0; i < keys.size(); ++i) earlier[i] = seen[keys[i]]++;
  return earlier;
}

}  // namespace assay

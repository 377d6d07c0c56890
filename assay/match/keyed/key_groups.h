// Small indexes over texts, shared by the matchers that work with keys.
#pragma once

#include "assay/model/dump.h"

#include <cstdint>
#include <span>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace assay {

// Numbers for texts: equal texts, equal numbers, counted from 0 in order of appearance.
class Interner {
 public:
  uint32_t number(std::string_view text);
  std::string_view text(uint32_t number) const { return texts_[number]; }
  size_t size() const { return texts_.size(); }

 private:
  std::unordered_map<std::string_view, uint32_t> numbers_;
  std::vector<std::string_view> texts_;
  StringPool pool_;
};

// Positions by key, ascending. The keys must outlive the groups; empty keys are in no group.
class KeyGroups {
 public:
  explicit KeyGroups(std::span<const std::string_view> keys);
  std::span<const uint32_t> find(std::string_view key) const;

 private:
  // A table of our own: dumps have millions of keys, and a node per key costs a cache miss more at every
  // look.
  struct Slot {
    uint32_t hash = 0;  // the upper half; the lower one is the place
    uint32_t group = kNoGroup;
  };
  static constexpr uint32_t kNoGroup = static_cast<uint32_t>(-1);
  size_t slot_of(std::string_view key, uint64_t hash) const;

  std::vector<Slot> slots_;                   // a power of two, at most half full
  std::vector<std::string_view> key_of_;      // of each group
  std::vector<uint32_t> begins_, positions_;  // the positions of group i: [begins_[i], begins_[i + 1])
};

// How often the same key stood before each position.
std::vector<uint32_t> count_earlier(std::span<const std::string_view> keys);

}  // namespace assay

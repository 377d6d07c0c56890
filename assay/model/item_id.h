// Which item of a section is meant.
#pragma once

#include <cstdint>
#include <string_view>

namespace assay {

enum class Side : uint8_t { mine, golden };

constexpr std::string_view name_of(Side side) { return side == Side::mine ? "mine" : "golden"; }
constexpr Side other_side(Side side) { return side == Side::mine ? Side::golden : Side::mine; }

struct ItemId {
  int32_t frame = 0, node = 0, item = 0;
  friend bool operator==(const ItemId&, const ItemId&) = default;
};

}  // namespace assay

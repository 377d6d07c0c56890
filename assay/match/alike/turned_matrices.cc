#include "assay/match/alike/turned_matrices.h"

#include <fmt/format.h>

#include <algorithm>
#include <unordered_map>

namespace assay {
namespace {

// Of one layer: its name has a number.
const Shape* matrix_in_layer(const PairingBuilder& builder, Side side, size_t position) {
  const Item& item = builder.item(side, position);
  if (item.meta == nullptr || !item.data || item.meta->shape.dims.size() < 2) return nullptr;
  const std::string_view name = builder.name_as_read(side, position);
  return name.find_first_of("0123456789") == std::string_view::npos ? nullptr : &item.meta->shape;
}

bool is_square(const Shape& shape) {
  const auto rows = shape.dims.rbegin();
  return shape.dims.size() > 1 && rows[0] == rows[1] && rows[0] > 1;
}

bool is_turned(const Shape& shape, const Shape& other) {
  if (shape.dims.size() != other.dims.size() || shape == other) return false;
  std::vector<int64_t> dims = other.dims;
  std::swap(dims[dims.size() - 1], dims[dims.size() - 2]);
  return dims == shape.dims;
}

}  // namespace

bool SquarePairs::wait(size_t mine, size_t golden) {
  const Shape* const of_mine = matrix_in_layer(builder_, Side::mine, mine);
  const Shape* const of_golden = matrix_in_layer(builder_, Side::golden, golden);
  if (of_mine == nullptr || of_golden == nullptr) return false;
  if (*of_mine != *of_golden) {
    turned_ += is_turned(*of_mine, *of_golden);
    return false;
  }
  if (!is_square(*of_mine)) {
    ++straight_;
    return false;
  }
  waiting_.emplace_back(mine, golden);
  return true;
}

bool is_turned_as_others(const PairingBuilder& builder, const Decision& decision) {
  if (decision.why != Why::same_name || (*decision.layout)[0].text != "{}.T") return false;
  std::unordered_map<std::string_view, size_t> golden;
  for (size_t g = 0; g < builder.size(Side::golden); ++g)
    golden.emplace(builder.name_as_read(Side::golden, g), g);
  SquarePairs pairs(builder);
  for (size_t m = 0; m < builder.size(Side::mine); ++m)
    if (const auto found = golden.find(builder.name_as_read(Side::mine, m)); found != golden.end())
      pairs.wait(m, found->second);
  return pairs.may_be_turned();
}

void doubt_unturned(Meeting& meeting) {
  for (Decision& decision : meeting.decisions()) {
    const PartGroup& group = decision.group;
    const bool stands = decision.why == Why::same_name && decision.layout != nullptr && decision.by_data &&
                        decision.shows_layout && group.parts.size() == 1 &&
                        (*decision.layout)[0].text.empty() && is_square(group.whole->shape);
    if (!stands || decision.doubts.is_unsure) continue;
    decision.doubts.is_unsure = true;
    decision.note += fmt::format("{}unsure: it stands as it is, though most matrices are turned",
                                 decision.note.empty() ? "" : "; ");
  }
}

}  // namespace assay

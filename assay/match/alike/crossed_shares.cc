#include "assay/match/alike/crossed_shares.h"

#include <fmt/format.h>

namespace assay {
namespace {

Shape joined(Shape share, size_t ranks, size_t axis) {
  share.dims[axis] *= static_cast<int64_t>(ranks);
  return share;
}

Piece all_of(size_t source, const Shape& shape) { return {source, 0, {shape.count()}, {1}}; }

// Shares along one dimension in those along another: all shares of the whole behind each other, of which a
// share of the part takes a stretch from each.
std::vector<Arrangement> across(const Shape& part, size_t parts, size_t part_axis, const Shape& whole,
                                size_t wholes, size_t whole_axis) {
  std::vector<int64_t> strides(whole.dims.size(), 1);
  for (size_t i = strides.size(); i-- > 1;) strides[i - 1] = strides[i] * whole.dims[i];
  std::vector<Arrangement> all;
  for (size_t rank = 0; rank < parts; ++rank) {
    const int64_t first = static_cast<int64_t>(rank) * part.dims[part_axis];
    Arrangement& share = all.emplace_back();
    for (size_t source = 0; source < wholes; ++source) share.pieces.push_back(all_of(source, whole));
    Piece order{0, first * strides[part_axis], {}, {}};
    for (size_t i = 0; i < part.dims.size(); ++i) {
      if (i == whole_axis) {
        order.dims.push_back(static_cast<int64_t>(wholes));
        order.strides.push_back(whole.count());
      }
      order.dims.push_back(i == whole_axis ? whole.dims[i] : part.dims[i]);
      order.strides.push_back(strides[i]);
    }
    share.order = std::move(order);
    std::string before;
    for (size_t i = 0; i < part_axis; ++i) before += ":, ";
    share.text = fmt::format("cat({{}} of {} ranks, dim {})[{}{}:{}]", wholes, whole_axis, before, first,
                             first + part.dims[part_axis]);
  }
  return all;
}

// Shares of rows in those of a tensor that was rounded up.
std::vector<Arrangement> in_padded(const Shape& part, size_t parts, size_t wholes,
                                   const Arrangement& padded) {
  std::vector<Arrangement> all;
  const int64_t rows = part.dims[0];
  for (size_t rank = 0; rank < parts; ++rank) {
    const auto which = static_cast<int64_t>(rank);
    Arrangement& share = all.emplace_back(padded);
    share.order = Piece{0, which * part.count(), {part.count()}, {1}};
    share.text = fmt::format("{}[{}:{}], and zeros from {} up to {}",
                             wholes > 1 ? fmt::format("cat({{}} of {} ranks)", wholes) : "{}", which * rows,
                             (which + 1) * rows, static_cast<int64_t>(parts) * rows, padded.window->of[0]);
  }
  return all;
}

}  // namespace

std::vector<std::vector<Arrangement>> crossed_shares(const Shape& part, size_t parts, const Shape& whole,
                                                     size_t wholes) {
  std::vector<std::vector<Arrangement>> found;
  const size_t dims = part.dims.size();
  if (parts < 2 || dims == 0 || dims != whole.dims.size() || part.count() == 0 || whole.count() == 0)
    return found;
  for (size_t part_axis = 0; part_axis < dims; ++part_axis)
    for (size_t whole_axis = 0; whole_axis < dims; ++whole_axis)
      if (part_axis != whole_axis && wholes > 1 &&
          joined(part, parts, part_axis) == joined(whole, wholes, whole_axis))
        found.push_back(across(part, parts, part_axis, whole, wholes, whole_axis));
  const Shape rows = joined(part, parts, 0);
  for (const Arrangement& padded : without_padding(rows, whole, wholes))
    if (padded.window->of[0] != rows.dims[0]) found.push_back(in_padded(part, parts, wholes, padded));
  return found;
}

}  // namespace assay

#include "assay/model/weight_share.h"

#include "assay/base/checked.h"

#include <algorithm>

namespace assay {
namespace {

using Dims = std::vector<int64_t>;

std::optional<ShareFit> fit_as(const std::vector<Shape>& whole, const Dims& share, int64_t ranks,
                               size_t out_dimension, bool transposed) {
  std::vector<Dims> pieces;
  for (const Shape& shape : whole) {
    pieces.push_back(shape.dims);
    if (transposed) std::reverse(pieces.back().begin(), pieces.back().end());
  }
  Dims all = pieces.at(0);
  if (all.size() != share.size() || all.empty()) return std::nullopt;
  size_t out = std::min(out_dimension, all.size() - 1);
  if (transposed) out = all.size() - 1 - out;
  for (size_t i = 1; i < pieces.size(); ++i) {
    Dims rest = pieces[i];
    if (rest.size() != all.size()) return std::nullopt;
    rest[out] = all[out];
    if (!std::equal(rest.begin(), rest.end(), all.begin())) return std::nullopt;
    const auto sum = checked_add(all[out], pieces[i][out]);
    if (!sum) return std::nullopt;
    all[out] = *sum;
  }
  if (all == share) return ShareFit{transposed, out, false};
  std::optional<size_t> axis;
  for (size_t i = 0; i < all.size(); ++i) {
    if (all[i] == share[i]) continue;
    if (axis || share[i] <= 0 || all[i] % share[i] != 0 || all[i] / share[i] != ranks) return std::nullopt;
    axis = i;
  }
  if (pieces.size() > 1) {
    const auto has_equal_shares = [&](const Dims& piece) { return piece[out] % ranks == 0; };
    if (*axis != out || !std::all_of(pieces.begin(), pieces.end(), has_equal_shares)) return std::nullopt;
  }
  return ShareFit{transposed, *axis, true};
}

}  // namespace

std::optional<ShareFit> fit_share(const std::vector<Shape>& whole, const Shape& share, int64_t ranks,
                                  const SharedWeight& how) {
  if (whole.empty() || ranks < 1) return std::nullopt;
  const bool may_be_transposed = how.is_projection && whole[0].dims.size() == 2;
  const bool first = may_be_transposed && how.is_transposed;
  auto fit = fit_as(whole, share.dims, ranks, how.out_dimension, first);
  if (!fit && may_be_transposed) fit = fit_as(whole, share.dims, ranks, how.out_dimension, !first);
  return fit;
}

std::optional<std::vector<Shape>> cut_shapes(const Shape& whole, const SharedWeight& how) {
  if (how.cuts.empty()) return std::vector<Shape>{whole};
  if (whole.dims.empty()) return std::nullopt;
  const size_t axis = std::min(how.out_dimension, whole.dims.size() - 1);
  std::vector<Shape> pieces;
  int64_t rest = whole.dims[axis];
  for (const int64_t cut : how.cuts) {
    if (cut < 1 || cut > rest) return std::nullopt;
    rest -= cut;
    Shape& piece = pieces.emplace_back(whole);
    piece.dims[axis] = cut;
  }
  if (rest != 0) return std::nullopt;
  return pieces;
}

}  // namespace assay

#include "assay/model/share_fit.h"

#include "assay/base/checked.h"

#include <algorithm>

namespace assay {
namespace {

using Dims = std::vector<int64_t>;

// The parts behind each other along `out`; nothing where they differ in another dimension.
std::optional<Dims> behind_each_other(const std::vector<Dims>& parts, size_t out) {
  Dims all = parts.at(0);
  for (size_t i = 1; i < parts.size(); ++i) {
    Dims rest = parts[i];
    if (rest.size() != all.size()) return std::nullopt;
    rest[out] = all[out];
    if (rest != all) return std::nullopt;
    const auto sum = checked_add(all[out], parts[i][out]);
    if (!sum) return std::nullopt;
    all[out] = *sum;
  }
  return all;
}

// Whether `ranks` shares of `share` make `whole`.
bool makes(int64_t share, int64_t ranks, int64_t whole) {
  return ranks > 1 && share > 0 && whole % share == 0 && whole / share == ranks;
}

std::optional<ShareFit> fit_as(const std::vector<Shape>& parts, int64_t part_ranks, const Dims& other,
                               int64_t other_ranks, const ShareRules& how, bool transposed) {
  std::vector<Dims> pieces;
  for (const Shape& shape : parts) {
    pieces.push_back(shape.dims);
    if (transposed) std::reverse(pieces.back().begin(), pieces.back().end());
  }
  if (pieces.at(0).size() != other.size() || other.empty()) return std::nullopt;
  ShareFit fit{transposed, std::min(how.out_dimension, other.size() - 1)};
  if (transposed) fit.out = other.size() - 1 - fit.out;
  const auto all = behind_each_other(pieces, fit.out);
  if (!all) return std::nullopt;
  fit.axis = fit.out;
  if (*all == other) return fit;
  std::optional<size_t> axis;
  for (size_t i = 0; i < other.size(); ++i) {
    if ((*all)[i] == other[i]) continue;
    if (axis) return std::nullopt;
    axis = i;
  }
  fit.axis = *axis;
  const int64_t ours = (*all)[*axis], theirs = other[*axis];
  if (makes(theirs, other_ranks, ours)) {
    fit.other_is_share = true;
  } else if (makes(ours, part_ranks, theirs)) {
    fit.parts_are_shares = true;
  } else {
    const auto a = checked_multiply(ours, part_ranks), b = checked_multiply(theirs, other_ranks);
    if (part_ranks < 2 || other_ranks < 2 || ours <= 0 || !a || !b || *a != *b) return std::nullopt;
    fit.parts_are_shares = fit.other_is_share = true;
  }
  if (pieces.size() > 1) {
    if (*axis != fit.out) return how.any_dimension ? std::optional(fit) : std::nullopt;
    // A rank of the other side has its share of each part.
    const int64_t ranks = fit.parts_are_shares ? part_ranks : 1;
    const auto is_divisible = [&](const Dims& piece) { return piece[fit.out] * ranks % other_ranks == 0; };
    if (fit.other_is_share && !std::ranges::all_of(pieces, is_divisible)) return std::nullopt;
  }
  return fit;
}

}  // namespace

std::optional<ShareFit> fit_shares(const std::vector<Shape>& parts, int64_t part_ranks, const Shape& other,
                                   int64_t other_ranks, const ShareRules& how) {
  if (parts.empty() || part_ranks < 1 || other_ranks < 1) return std::nullopt;
  const bool may_be_transposed = how.may_be_transposed && parts[0].dims.size() == 2;
  const bool first = may_be_transposed && how.is_transposed;
  auto fit = fit_as(parts, part_ranks, other.dims, other_ranks, how, first);
  if (!fit && may_be_transposed) fit = fit_as(parts, part_ranks, other.dims, other_ranks, how, !first);
  return fit;
}

bool are_all_of(const std::vector<int64_t>& widths, const Shape& whole, int64_t dimension) {
  if (whole.dims.empty() || widths.empty()) return false;
  const size_t last = whole.dims.size() - 1;
  int64_t rest = whole.dims[dimension < 0 ? last : std::min(static_cast<size_t>(dimension), last)];
  for (const int64_t width : widths) {
    if (width < 1 || width > rest) return false;
    rest -= width;
  }
  return rest == 0;
}

}  // namespace assay

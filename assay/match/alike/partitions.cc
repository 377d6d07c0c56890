#include "assay/match/alike/arrange.h"

#include "assay/match/alike/dims.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <numeric>

namespace assay {
namespace {

constexpr size_t kMostOrderedParts = 4;  // of more, the order of their names is taken

class Partitions {
 public:
  Partitions(std::span<const Shape> parts, const Shape& whole, size_t sources, PartOrder order)
      : whole_(whole.dims), sources_(static_cast<int64_t>(sources)), order_(order) {
    for (const Shape& part : parts) parts_.push_back(part.dims);
  }

  std::vector<std::vector<Arrangement>> list() {
    if (parts_.empty() || whole_.empty()) return {};
    const bool same_rank =
        std::ranges::all_of(parts_, [&](const Dims& d) { return d.size() == whole_.size(); });
    if (same_rank) {
      for (size_t axis = 0; axis < whole_.size(); ++axis) slice(axis, false);
      if (whole_.size() == 2)
        for (size_t axis = 0; axis < 2; ++axis) slice(axis, true);
      if (sources_ == 1) slice_fused();
    } else if (sources_ == 1) {
      stack();
      slice_stacked();
      slice_stacked_turned();
    }
    return std::move(found_);
  }

 private:
  // Experts of several parts each: gate and up of the first, gate and up of the second.
  void slice_stacked() {
    if (whole_.size() < 2 || parts_.size() == static_cast<size_t>(whole_[0])) return;
    Dims merged(whole_.begin() + 1, whole_.end());
    merged[0] *= whole_[0];
    std::vector<Shape> parts;
    for (const Dims& part : parts_) {
      if (part.size() != merged.size()) return;
      parts.push_back(Shape{part});
    }
    for (auto& each : Partitions(parts, Shape{merged}, 1, order_).list()) {
      for (Arrangement& arrangement : each) {
        const std::string rows = fmt::format("{{}}.reshape({})", fmt::join(merged, ", "));
        arrangement.text = rows + arrangement.text.substr(2);
      }
      found_.push_back(std::move(each));
    }
  }

  // Experts whose matrices are [in, out], several in each: behind each other, or in turns.
  void slice_stacked_turned() {
    const auto count = static_cast<int64_t>(parts_.size());
    if (whole_.size() != 3 || count % whole_[0] != 0 || count == whole_[0]) return;
    const int64_t in_one = count / whole_[0], in = whole_[1], out = whole_[2];
    if (out % in_one != 0 || std::ranges::any_of(parts_, [&](const Dims& d) {
          return d != Dims{out / in_one, in};
        }))
      return;
    const int64_t own = out / in_one;
    for (const bool in_turns : {false, true}) {
      std::vector<Arrangement> all;
      for (int64_t i = 0; i < count; ++i) {
        const int64_t expert = i / in_one, part = i % in_one;
        const int64_t first = in_turns ? part : part * own;
        all.push_back({{simplified({0, expert * in * out + first, {own, in}, {in_turns ? in_one : 1, out}})},
                       in_turns ? fmt::format("{{}}[{}, :, {}::{}].T", expert, first, in_one)
                                : fmt::format("{{}}[{}, :, {}:{}].T", expert, first, first + own),
                       {}});
      }
      found_.push_back(std::move(all));
    }
  }

  // Parts behind each other along a dimension; or in as many groups, a block of every part in each.
  void slice(size_t axis, bool transposed) {
    if (sources_ > 1 && (axis != 0 || transposed)) return;  // ranks hold rows of every part
    std::vector<int64_t> extents;
    for (const Dims& part : parts_) {
      Dims seen = part;
      if (transposed) std::reverse(seen.begin(), seen.end());
      if (seen[axis] % sources_ != 0) return;
      seen[axis] /= sources_;
      extents.push_back(seen[axis]);
      seen[axis] = whole_[axis];
      if (seen != whole_) return;
    }
    if (std::accumulate(extents.begin(), extents.end(), int64_t{0}) != whole_[axis]) return;
    std::vector<size_t> order(parts_.size());
    std::iota(order.begin(), order.end(), size_t{0});
    int64_t common = 0;
    for (const int64_t extent : extents) common = std::gcd(common, extent);
    if (common == 0) return;
    do {
      for (const int64_t groups : divisors(common)) add_slices(axis, transposed, extents, order, groups);
    } while (order_ == PartOrder::any && parts_.size() <= kMostOrderedParts &&
             std::next_permutation(order.begin(), order.end()));
  }

  void add_slices(size_t axis, bool transposed, const std::vector<int64_t>& extents,
                  const std::vector<size_t>& order, int64_t groups) {
    const Dims strides = strides_of(whole_);
    std::vector<Arrangement> all(parts_.size());
    int64_t first = 0;
    for (const size_t part : order) {
      const int64_t block = extents[part] / groups;
      Arrangement& arrangement = all[part];
      for (int64_t source = 0; source < sources_; ++source) {
        Piece piece{static_cast<size_t>(source), first * strides[axis], {}, {}};
        for (size_t dim = 0; dim < whole_.size(); ++dim) {
          if (dim != axis) {
            piece.dims.push_back(whole_[dim]);
            piece.strides.push_back(strides[dim]);
            continue;
          }
          piece.dims.insert(piece.dims.end(), {groups, block});
          piece.strides.insert(piece.strides.end(), {whole_[axis] / groups * strides[axis], strides[axis]});
        }
        if (transposed) turn(piece, axis);
        arrangement.pieces.push_back(simplified(std::move(piece)));
      }
      arrangement.text = slice_text(axis, transposed, groups, first, block);
      arrangement.is_regrouped = groups > 1;
      first += block;
    }
    found_.push_back(std::move(all));
  }

  // The dimension that was split in two stays together.
  static void turn(Piece& piece, size_t axis) {
    const size_t other = axis == 0 ? 2 : 0, split = axis == 0 ? 0 : 1;
    const std::vector<size_t> order = axis == 0 ? std::vector<size_t>{other, split, split + 1}
                                                : std::vector<size_t>{split, split + 1, other};
    Piece turned{piece.source, piece.base, {}, {}};
    for (const size_t dim : order) {
      turned.dims.push_back(piece.dims[dim]);
      turned.strides.push_back(piece.strides[dim]);
    }
    piece = std::move(turned);
  }

  std::string slice_text(size_t axis, bool transposed, int64_t groups, int64_t first, int64_t block) const {
    std::string text = "{}[";
    for (size_t i = 0; i < axis; ++i) text += ":, ";
    text += fmt::format("{}:{}]", first, first + block);
    if (groups > 1) text += fmt::format(" of each of {} groups", groups);
    if (transposed) text += ".T";
    return sources_ > 1 ? fmt::format("cat({} of each of {} ranks)", text, sources_) : text;
  }

  // Ranks of a fused tensor: each holds its share of the queries, of the keys, of the values.
  void slice_fused() {
    const auto count = static_cast<int64_t>(parts_.size());
    if (count < 2 || std::ranges::any_of(parts_, [&](const Dims& d) { return d != parts_[0]; })) return;
    Dims joined = parts_[0];
    joined[0] *= count;
    if (joined != whole_) return;
    for (const std::vector<int64_t>& ratio : kFusedRatios) add_fused(ratio);
  }

  void add_fused(const std::vector<int64_t>& ratio) {
    const int64_t rows = parts_[0][0], unit_count = std::accumulate(ratio.begin(), ratio.end(), int64_t{0});
    if (rows % unit_count != 0) return;
    const auto ranks = static_cast<int64_t>(parts_.size());
    const int64_t unit = rows / unit_count, width = product(whole_) / whole_[0];
    std::vector<Arrangement> all(parts_.size());
    for (int64_t rank = 0; rank < ranks; ++rank) {
      int64_t first = 0;
      for (const int64_t units : ratio) {
        const int64_t length = units * unit;
        all[static_cast<size_t>(rank)].pieces.push_back(
            simplified({0, (first + rank * length) * width, {length, width}, {width, 1}}));
        first += length * ranks;
      }
      all[static_cast<size_t>(rank)].text =
          fmt::format("{{}} in parts of {}, share {} of {} of each", fmt::join(ratio, ":"), rank + 1, ranks);
    }
    found_.push_back(std::move(all));
  }

  // One behind the other in a dimension of their own: experts, layers.
  void stack() {
    const auto count = static_cast<int64_t>(parts_.size());
    if (whole_.size() != parts_[0].size() + 1 || whole_[0] != count) return;
    if (std::ranges::any_of(parts_, [&](const Dims& d) { return d != parts_[0]; })) return;
    const Dims inner(whole_.begin() + 1, whole_.end());
    const int64_t size = product(inner);
    for (const bool transposed : {false, true}) {
      Dims dims = inner, strides = strides_of(inner);
      if (transposed) {
        if (inner.size() != 2) return;
        std::swap(dims[0], dims[1]);
        std::swap(strides[0], strides[1]);
      }
      if (dims != parts_[0]) continue;
      std::vector<Arrangement> all;
      for (int64_t i = 0; i < count; ++i)
        all.push_back({{simplified({0, i * size, dims, strides})},
                       fmt::format("{{}}[{}]{}", i, transposed ? ".T" : ""),
                       {}});
      found_.push_back(std::move(all));
    }
  }

  std::vector<Dims> parts_;
  const Dims whole_;
  const int64_t sources_;
  const PartOrder order_;
  std::vector<std::vector<Arrangement>> found_;
};

}  // namespace

std::vector<std::vector<Arrangement>> shared_partitions(std::span<const Shape> parts, const Shape& whole,
                                                        size_t shares) {
  std::vector<std::vector<Arrangement>> found;
  const auto ranks = static_cast<int64_t>(shares);
  for (size_t axis = 0; axis < whole.dims.size(); ++axis) {
    std::vector<Shape> joined(parts.begin(), parts.end());
    if (std::ranges::any_of(joined, [&](const Shape& each) { return each.dims.size() <= axis; })) break;
    for (Shape& each : joined) each.dims[axis] *= ranks;
    for (const std::vector<Arrangement>& candidate : partitions(joined, whole)) {
      std::vector<Arrangement>& all = found.emplace_back();
      for (size_t part = 0; part < parts.size(); ++part)
        for (int64_t rank = 0; rank < ranks; ++rank) {
          Arrangement& share = all.emplace_back(candidate[part]);
          const int64_t extent = parts[part].dims[axis];
          share.window = Window{joined[part].dims, Dims(joined[part].dims.size(), 0), parts[part].dims};
          share.window->first[axis] = rank * extent;
          std::string stretch = "[";
          for (size_t i = 0; i < axis; ++i) stretch += ":, ";
          share.text += fmt::format("{}{}:{}]", stretch, rank * extent, (rank + 1) * extent);
        }
    }
  }
  return found;
}

std::vector<std::vector<Arrangement>> partitions(std::span<const Shape> parts, const Shape& whole,
                                                 size_t sources, PartOrder order) {
  if (whole.count() == 0 || std::ranges::any_of(parts, [](const Shape& s) { return s.count() == 0; }))
    return {};
  return Partitions(parts, whole, sources, order).list();
}

}  // namespace assay

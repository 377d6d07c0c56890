#include "assay/match/alike/arrange.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <set>

namespace assay {
namespace {

using Dims = std::vector<int64_t>;

constexpr size_t kMostDims = 5;          // 120 orders
constexpr size_t kMostOrderedParts = 3;  // of more, the order of their names is taken

// Queries, keys and values of as many heads, or with several queries for each key; gate and up.
const std::vector<std::vector<int64_t>> kFusedRatios = {
    {1, 1},    {1, 1, 1}, {2, 1, 1},  {3, 1, 1},  {4, 1, 1},  {5, 1, 1}, {6, 1, 1},
    {7, 1, 1}, {8, 1, 1}, {10, 1, 1}, {12, 1, 1}, {14, 1, 1}, {16, 1, 1}};

Dims strides_of(const Dims& dims) {
  Dims strides(dims.size(), 1);
  for (size_t i = dims.size(); i-- > 1;) strides[i - 1] = strides[i] * dims[i];
  return strides;
}

Dims without_ones(const Dims& dims) {
  Dims left;
  std::copy_if(dims.begin(), dims.end(), std::back_inserter(left), [](int64_t d) { return d != 1; });
  return left;
}

int64_t product(const Dims& dims) {
  return std::accumulate(dims.begin(), dims.end(), int64_t{1}, std::multiplies<>());
}

std::vector<int64_t> divisors(int64_t number) {
  std::vector<int64_t> found;
  for (int64_t i = 1; i * i <= number; ++i)
    if (number % i == 0) {
      found.push_back(i);
      if (i * i != number) found.push_back(number / i);
    }
  std::sort(found.begin(), found.end());
  return found;
}

// Vocabularies are: to a multiple of 128 for each rank, of 64, of 8. A longer one may be another one.
bool may_be_rounded_up(int64_t length, int64_t rounded) {
  const int64_t multiple = rounded & -rounded;  // the largest power of two that it is one of
  const int64_t added = rounded - length;
  if (multiple < 8 || added >= multiple) return false;
  return multiple >= 16 ? 2 * added <= rounded : 8 * added < rounded;
}

// Neighbouring dimensions that are walked as one are one: two views of the same elements look the same.
Piece simplified(Piece piece) {
  Piece out{piece.source, piece.base, {}, {}};
  for (size_t i = 0; i < piece.dims.size(); ++i) {
    if (piece.dims[i] == 1) continue;
    if (!out.dims.empty() && out.strides.back() == piece.strides[i] * piece.dims[i]) {
      out.dims.back() *= piece.dims[i];
      out.strides.back() = piece.strides[i];
    } else {
      out.dims.push_back(piece.dims[i]);
      out.strides.push_back(piece.strides[i]);
    }
  }
  return out;
}

// One shape becomes the other by taking neighbours together or apart.
bool has_common_cuts(const Dims& a, const Dims& b) {
  const Dims& fine = a.size() >= b.size() ? a : b;
  const Dims& coarse = a.size() >= b.size() ? b : a;
  size_t at = 0;
  for (const int64_t whole : coarse) {
    int64_t so_far = 1;
    while (at < fine.size() && so_far < whole) so_far *= fine[at++];
    if (so_far != whole) return false;
  }
  return at == fine.size();
}

std::string order_text(const std::vector<size_t>& order) {
  if (order.size() == 2) return ".T";
  return fmt::format(".permute({})", fmt::join(order, ", "));
}

class Rearrangements {
 public:
  Rearrangements(const Shape& part, const Shape& whole)
      : part_(without_ones(part.dims)), whole_(without_ones(whole.dims)) {}

  std::vector<Arrangement> list() {
    if (product(part_) == product(whole_)) {
      add({0, 0, whole_, strides_of(whole_)},
          part_ == whole_ ? "" : fmt::format("{{}}.reshape({})", fmt::join(part_, ", ")));
      if (whole_.size() <= kMostDims) reorder_whole();
      if (part_.size() <= kMostDims) reorder_part();
      swap_rope_halves();
      regroup_fused();
    }
    return std::move(found_);
  }

 private:
  void add(Piece piece, std::string text, int64_t rotary = 0) {
    piece = simplified(std::move(piece));
    if (!seen_.insert({piece.dims, piece.strides}).second) return;
    found_.push_back({.pieces = {std::move(piece)}, .text = std::move(text), .rotary = rotary});
  }

  // [K, N] against [N, K]; blocks of 16 by 16 against a plain matrix.
  void reorder_whole() {
    std::vector<size_t> order(whole_.size());
    std::iota(order.begin(), order.end(), size_t{0});
    const Dims strides = strides_of(whole_);
    while (std::next_permutation(order.begin(), order.end())) {
      Piece piece;
      for (const size_t dim : order) {
        piece.dims.push_back(whole_[dim]);
        piece.strides.push_back(strides[dim]);
      }
      if (has_common_cuts(piece.dims, part_)) add(std::move(piece), "{}" + order_text(order));
    }
  }

  // [batch, heads, positions, n] against [batch * positions, heads * n].
  void reorder_part() {
    std::vector<size_t> order(part_.size());
    std::iota(order.begin(), order.end(), size_t{0});
    while (std::next_permutation(order.begin(), order.end())) {
      Dims as_whole;
      for (const size_t dim : order) as_whole.push_back(part_[dim]);
      if (!has_common_cuts(as_whole, whole_)) continue;
      const Dims strides = strides_of(as_whole);
      Piece piece{0, 0, part_, Dims(part_.size())};
      std::vector<size_t> back(order.size());
      for (size_t i = 0; i < order.size(); ++i) {
        piece.strides[order[i]] = strides[i];
        back[order[i]] = i;
      }
      add(std::move(piece),
          (as_whole == whole_ ? "{}" : fmt::format("{{}}.view({})", fmt::join(as_whole, ", "))) +
              order_text(back));
    }
  }

  // The two numbers that a rotary embedding turns stand beside each other in one system, half a head apart in
  // another: the rows of query and key are in another order.
  void swap_rope_halves() {
    constexpr int64_t kWidest = 1024;
    if (part_ != whole_ || part_.empty() || part_.size() > 2) return;
    const int64_t rows = part_[0], columns = product(part_) / rows;
    for (const int64_t heads : divisors(rows)) {
      const int64_t width = rows / heads;
      if (width % 2 != 0 || width < 4 || width > kWidest) continue;
      add({0, 0, {heads, 2, width / 2, columns}, {width * columns, columns, 2 * columns, 1}},
          fmt::format("{{}} with the rotary pairs of {} heads set apart", heads), width);
      add({0, 0, {heads, width / 2, 2, columns}, {width * columns, columns, width / 2 * columns, 1}},
          fmt::format("{{}} with the rotary halves of {} heads interleaved", heads), -width);
    }
  }

  // Queries, keys and values behind each other in one system, group by group in the other.
  void regroup_fused() {
    constexpr int64_t kMostGroups = 256;
    if (part_ != whole_ || part_.empty() || part_.size() > 2) return;
    const int64_t rows = part_[0], width = product(part_) / rows;
    for (const std::vector<int64_t>& ratio : kFusedRatios) {
      const int64_t units = std::accumulate(ratio.begin(), ratio.end(), int64_t{0});
      if (rows % units != 0) continue;
      for (const int64_t groups : divisors(rows / units)) {
        if (groups == 1 || groups > kMostGroups) continue;
        const int64_t unit = rows / units / groups;
        Arrangement stacked, grouped;
        int64_t first = 0;  // of the part, in units of one group
        for (const int64_t length : ratio) {
          stacked.pieces.push_back(simplified(
              {0, first * unit * width, {groups, length * unit, width}, {rows / groups * width, width, 1}}));
          first += length;
        }
        for (int64_t group = 0; group < groups; ++group) {
          first = 0;
          for (const int64_t length : ratio) {
            grouped.pieces.push_back(simplified(
                {0, (first * groups + group * length) * unit * width, {length * unit, width}, {width, 1}}));
            first += length;
          }
        }
        stacked.text = fmt::format("{{}} with {} groups of {} taken apart", groups, fmt::join(ratio, ":"));
        grouped.text = fmt::format("{{}} with parts of {} in {} groups", fmt::join(ratio, ":"), groups);
        stacked.is_regrouped = grouped.is_regrouped = true;
        found_.push_back(std::move(stacked));
        found_.push_back(std::move(grouped));
      }
    }
  }

  const Dims part_, whole_;
  std::set<std::pair<Dims, Dims>> seen_;
  std::vector<Arrangement> found_;
};

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

int64_t Piece::count() const { return product(dims); }

int64_t Piece::place(int64_t index) const {
  int64_t at = base;
  for (size_t i = dims.size(); i-- > 0;) {
    at += index % dims[i] * strides[i];
    index /= dims[i];
  }
  return at;
}

std::string Arrangement::text_of(std::string_view side) const {
  const size_t at = text.find("{}");
  return at == std::string::npos ? text : text.substr(0, at) + std::string(side) + text.substr(at + 2);
}

int64_t Window::place(int64_t index) const {
  int64_t at = 0, stride = 1;
  for (size_t i = of.size(); i-- > 0;) {
    at += (first[i] + index % count[i]) * stride;
    index /= count[i];
    stride *= of[i];
  }
  return at;
}

Arrangement::Place Arrangement::place(int64_t index) const {
  if (order) index = order->place(index);
  if (window) index = window->place(index);
  for (const Piece& piece : pieces) {
    const int64_t count = piece.count();
    if (index < count) return {piece.source, piece.place(index)};
    index -= count;
  }
  return {0, 0};
}

std::vector<Arrangement> rearrangements(const Shape& part, const Shape& whole) {
  if (part.count() == 0 || whole.count() == 0) return {};
  if (part.count() < whole.count()) return without_padding(part, whole);
  return Rearrangements(part, whole).list();
}

std::vector<Arrangement> without_padding(const Shape& part, const Shape& whole, size_t sources) {
  if (part.count() == 0 || whole.dims.size() != part.dims.size() || part.dims.empty()) return {};
  Dims all = whole.dims;
  all[0] *= static_cast<int64_t>(sources);
  std::optional<size_t> axis;
  for (size_t i = 0; i < all.size(); ++i) {
    if (all[i] == part.dims[i]) continue;
    if (axis || all[i] < part.dims[i]) return {};
    axis = i;
  }
  if (!axis || !may_be_rounded_up(part.dims[*axis], all[*axis])) return {};
  Arrangement arrangement;
  for (size_t source = 0; source < sources; ++source)
    arrangement.pieces.push_back(simplified({source, 0, whole.dims, strides_of(whole.dims)}));
  std::string seen = "[";
  for (size_t i = 0; i < *axis; ++i) seen += ":, ";
  seen += fmt::format("0:{}]", part.dims[*axis]);
  arrangement.text =
      fmt::format("{}{}, and zeros up to {}",
                  sources > 1 ? fmt::format("cat({{}} of {} ranks)", sources) : "{}", seen, all[*axis]);
  arrangement.window = Window{all, Dims(all.size(), 0), part.dims, true};
  return {std::move(arrangement)};
}

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

#include "assay/match/alike/arrange.h"

#include "assay/match/alike/dims.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <numeric>
#include <set>

namespace assay {
namespace {

constexpr size_t kMostDims = 5;  // 120 orders

Dims without_ones(const Dims& dims) {
  Dims left;
  std::copy_if(dims.begin(), dims.end(), std::back_inserter(left), [](int64_t d) { return d != 1; });
  return left;
}

// Vocabularies are: to a multiple of 128 for each rank, of 64, of 8. A longer one may be another one.
bool may_be_rounded_up(int64_t length, int64_t rounded) {
  const int64_t multiple = rounded & -rounded;  // the largest power of two that it is one of
  const int64_t added = rounded - length;
  if (multiple < 8 || added >= multiple) return false;
  return multiple >= 16 ? 2 * added <= rounded : 8 * added < rounded;
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

  // Rows of what is regrouped, where their elements lie in the whole.
  struct Rows {
    int64_t count = 0, columns = 1;
    int64_t row_stride = 1, column_stride = 1;
    std::string text = "{}";
    std::optional<Piece> order = {};  // of what was regrouped, where that is not the part yet
  };

  // Queries, keys and values behind each other in one system, group by group in the other; also where one has
  // its matrices as [in, out].
  void regroup_fused() {
    if (part_.empty() || part_.size() > 2) return;
    if (part_ == whole_) {
      const int64_t columns = product(part_) / part_[0];
      regroup({part_[0], columns, columns, 1});
    } else if (part_ == Dims(whole_.rbegin(), whole_.rend())) {
      regroup({whole_[1], whole_[0], 1, whole_[1], "{}.T"});
      regroup({whole_[0], whole_[1], whole_[1], 1, "{}.T", Piece{0, 0, part_, {1, part_[0]}}});
    }
  }

  void regroup(const Rows& rows) {
    constexpr int64_t kMostGroups = 256;
    const auto add_rows = [&](Arrangement& to, int64_t first, Dims dims, int64_t step) {
      Dims strides = {rows.row_stride, rows.column_stride};
      if (dims.size() == 2) strides.insert(strides.begin(), step * rows.row_stride);
      dims.push_back(rows.columns);
      to.pieces.push_back(simplified({0, first * rows.row_stride, std::move(dims), std::move(strides)}));
    };
    for (const std::vector<int64_t>& ratio : kFusedRatios) {
      const int64_t units = std::accumulate(ratio.begin(), ratio.end(), int64_t{0});
      if (rows.count % units != 0) continue;
      for (const int64_t groups : divisors(rows.count / units)) {
        if (groups == 1 || groups > kMostGroups) continue;
        const int64_t unit = rows.count / units / groups;
        Arrangement stacked, grouped;
        int64_t first = 0;  // of the part, in units of one group
        for (const int64_t length : ratio) {
          add_rows(stacked, first * unit, {groups, length * unit}, rows.count / groups);
          first += length;
        }
        for (int64_t group = 0; group < groups; ++group) {
          first = 0;
          for (const int64_t length : ratio) {
            add_rows(grouped, (first * groups + group * length) * unit, {length * unit}, 0);
            first += length;
          }
        }
        stacked.text =
            fmt::format("{} with {} groups of {} taken apart", rows.text, groups, fmt::join(ratio, ":"));
        grouped.text =
            fmt::format("{} with parts of {} in {} groups", rows.text, fmt::join(ratio, ":"), groups);
        for (Arrangement* each : {&stacked, &grouped}) {
          each->is_regrouped = true;
          each->order = rows.order;
          found_.push_back(std::move(*each));
        }
      }
    }
  }

  const Dims part_, whole_;
  std::set<std::pair<Dims, Dims>> seen_;
  std::vector<Arrangement> found_;
};

// "[:, 0:60], and zeros up to 64"
std::string text_of_padding(const Dims& dims, const Dims& padded) {
  std::vector<std::string> cuts;
  std::vector<int64_t> ends;
  size_t last = 0;
  for (size_t i = 0; i < dims.size(); ++i) {
    cuts.push_back(dims[i] == padded[i] ? ":" : fmt::format("0:{}", dims[i]));
    if (dims[i] == padded[i]) continue;
    ends.push_back(padded[i]);
    last = i;
  }
  cuts.resize(last + 1);
  return fmt::format("[{}], and zeros up to {}", fmt::join(cuts, ", "), fmt::join(ends, ", "));
}

// A matrix in blocks of 16 rows (NZ), rounded up to whole blocks: [columns / width, rows / 16, 16, width].
std::vector<Arrangement> in_padded_blocks(const Shape& part, const Shape& whole) {
  constexpr int64_t kRows = 16;
  constexpr std::array<int64_t, 3> kWidths = {16, 32, 8};
  const Dims &dims = part.dims, &blocks = whole.dims;
  if (dims.size() < 2 || blocks.size() != dims.size() + 2) return {};
  const size_t batch = dims.size() - 2;
  const int64_t width = blocks.back();
  const auto rounded = [](int64_t length, int64_t multiple) {
    return (length + multiple - 1) / multiple * multiple;
  };
  Dims padded = dims;
  padded[batch] = rounded(dims[batch], kRows);
  padded[batch + 1] = rounded(dims[batch + 1], width);
  Dims expected(dims.begin(), dims.begin() + static_cast<ptrdiff_t>(batch));
  expected.insert(expected.end(), {padded[batch + 1] / width, padded[batch] / kRows, kRows, width});
  if (std::ranges::find(kWidths, width) == kWidths.end() || blocks != expected) return {};
  const int64_t rows = padded[batch], columns = padded[batch + 1];
  Piece piece{0,
              0,
              {product(padded) / (rows * columns), rows, columns / width, width},
              {rows * columns, width, rows * width, 1}};
  Arrangement arrangement;
  arrangement.pieces.push_back(simplified(std::move(piece)));
  arrangement.text = "{} of blocks laid side by side" + text_of_padding(dims, padded);
  arrangement.window = Window{padded, Dims(padded.size(), 0), dims, true};
  return {std::move(arrangement)};
}

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
  if (part.count() < whole.count()) {
    std::vector<Arrangement> found = without_padding(part, whole);
    for (Arrangement& each : in_padded_blocks(part, whole)) found.push_back(std::move(each));
    return found;
  }
  return Rearrangements(part, whole).list();
}

std::vector<Arrangement> without_padding(const Shape& part, const Shape& whole, size_t sources) {
  if (part.count() == 0 || whole.dims.size() != part.dims.size() || part.dims.empty()) return {};
  Dims all = whole.dims;
  all[0] *= static_cast<int64_t>(sources);
  for (size_t i = 0; i < all.size(); ++i)
    if (all[i] != part.dims[i] && !may_be_rounded_up(part.dims[i], all[i])) return {};
  // Ranks that hold as much as there is hold copies: zeros on one of them are wrong.
  if (sources > 1 && part.dims == whole.dims) return {};
  // Of each dimension at most half is added, and of all of them together.
  if (part.dims == all || 2 * part.count() < product(all)) return {};
  Arrangement arrangement;
  for (size_t source = 0; source < sources; ++source)
    arrangement.pieces.push_back(simplified({source, 0, whole.dims, strides_of(whole.dims)}));
  arrangement.text = fmt::format("{}{}", sources > 1 ? fmt::format("cat({{}} of {} ranks)", sources) : "{}",
                                 text_of_padding(part.dims, all));
  arrangement.window = Window{all, Dims(all.size(), 0), part.dims, true};
  return {std::move(arrangement)};
}

}  // namespace assay

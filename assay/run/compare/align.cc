#include "assay/run/compare/align.h"

#include "assay/tensor/gather.h"

#include <algorithm>
#include <numeric>

namespace assay {
namespace {

using Dims = std::vector<int64_t>;

size_t leading_ones(const Dims& dims) {
  size_t ones = 0;
  while (ones + 1 < dims.size() && dims[ones] == 1) ++ones;
  return ones;
}

Dims without_leading_ones(const Dims& dims) {
  return {dims.begin() + static_cast<ptrdiff_t>(leading_ones(dims)), dims.end()};
}

// The only dimension in which they differ.
std::optional<size_t> differing_dimension(const Dims& a, const Dims& b) {
  if (a.size() != b.size()) return std::nullopt;
  std::optional<size_t> found;
  for (size_t i = 0; i < a.size(); ++i) {
    if (a[i] == b[i]) continue;
    if (found) return std::nullopt;
    found = i;
  }
  return found;
}

// Each of the shares along a dimension several times behind each other: of fewer heads of keys than ranks,
// some ranks hold the same one.
Result<OperandPtr> with_repeated_shares(const OperandPtr& whole, const Dims& dims, size_t axis, int64_t share,
                                        int64_t times) {
  Dims shape(dims.begin(), dims.begin() + static_cast<ptrdiff_t>(axis));
  shape.insert(shape.end(), {dims[axis] / share, times, share});
  shape.insert(shape.end(), dims.begin() + static_cast<ptrdiff_t>(axis) + 1, dims.end());
  Dims strides(shape.size(), 0), joined = dims;
  int64_t stride = 1;
  for (size_t i = shape.size(); i-- > 0;) {
    if (i == axis + 1) continue;
    strides[i] = stride;
    stride *= shape[i];
  }
  joined[axis] *= times;
  ASSAY_TRY(OperandPtr view, strided(whole, Shape{shape}, strides, 0));
  return reshaped(std::move(view), Shape{joined});
}

// Of two ranks or more on one side, each share of what the other holds whole on several of them. All of them
// are compared.
Result<std::optional<Aligned>> join_repeated(const Spread& shares, const Dims& part, const OperandPtr& whole,
                                             const Dims& dims, size_t axis, bool of_mine) {
  const auto ranks = static_cast<int64_t>(shares.ranks);
  if (part[axis] == 0 || dims[axis] % part[axis] != 0 || dims[axis] == part[axis] ||
      ranks % (dims[axis] / part[axis]) != 0)
    return std::optional<Aligned>();
  const int64_t times = ranks / (dims[axis] / part[axis]);
  Aligned done;
  ASSAY_TRY(OperandPtr joined, join_shards(shares, axis, Shape{part}));
  ASSAY_TRY(OperandPtr repeated, with_repeated_shares(whole, dims, axis, part[axis], times));
  done.mine = of_mine ? std::move(joined) : repeated;
  done.golden = of_mine ? std::move(repeated) : std::move(joined);
  done.mine_joined = of_mine;
  done.golden_joined = !of_mine;
  done.note = fmt::format("{}, each share on {} of them",
                          joined_note(of_mine ? "mine" : "golden", shares.ranks, axis), times);
  return std::optional(std::move(done));
}

// One join that makes `a` and `b` equal in all dimensions, if there is one: of mine, of golden, or of both.
Result<std::optional<Aligned>> join_ranks(const Spread& mine, const Spread& golden, const Dims& a,
                                          const Dims& b) {
  const auto axis = differing_dimension(a, b);
  if (!axis) return std::optional<Aligned>();
  const auto m = static_cast<int64_t>(mine.ranks), g = static_cast<int64_t>(golden.ranks);
  const int64_t in_mine = a[*axis], in_golden = b[*axis];
  const bool join_mine = m > 1 && (in_mine * m == in_golden || in_mine * m == in_golden * g);
  const bool join_golden = g > 1 && !(m > 1 && in_mine * m == in_golden) &&
                           (in_golden * g == in_mine || in_mine * m == in_golden * g);
  if (!join_mine && !join_golden) {
    if (m > 1 && g == 1) return join_repeated(mine, a, golden.own, b, *axis, true);
    if (g > 1 && m == 1) return join_repeated(golden, b, mine.own, a, *axis, false);
    return std::optional<Aligned>();
  }
  Aligned done{mine.own, golden.own};
  if (join_mine) {
    ASSAY_TRY(done.mine, join_shards(mine, *axis, Shape{a}));
    done.mine_joined = true;
    done.note = joined_note("mine", mine.ranks, *axis);
  }
  if (join_golden) {
    ASSAY_TRY(done.golden, join_shards(golden, *axis, Shape{b}));
    done.golden_joined = true;
    done.note += (done.note.empty() ? "" : "; ") + joined_note("golden", golden.ranks, *axis);
  }
  if (done.mine->meta.shape.count() != done.golden->meta.shape.count()) return std::optional<Aligned>();
  return std::optional(std::move(done));
}

// One shape comes from the other by taking neighbouring dimensions together: [2, 3, 4] and [6, 4].
bool is_merged(const Dims& a, const Dims& b) {
  const Dims& fine = a.size() >= b.size() ? a : b;
  const Dims& coarse = a.size() >= b.size() ? b : a;
  size_t at = 0;
  for (const int64_t whole : coarse) {
    int64_t product = 1;
    while (at < fine.size() && product < whole) product *= fine[at++];
    while (at < fine.size() && fine[at] == 1) ++at;
    if (product != whole) return false;
  }
  return at == fine.size();
}

Result<std::optional<Aligned>> repeat(const OperandPtr& mine, const OperandPtr& golden) {
  const Dims &a = mine->meta.shape.dims, &b = golden->meta.shape.dims;
  const bool mine_is_larger = mine->meta.shape.count() > golden->meta.shape.count();
  const OperandPtr &larger = mine_is_larger ? mine : golden, &smaller = mine_is_larger ? golden : mine;
  ASSAY_TRY(const auto view, broadcast_to(smaller, larger->meta.shape));
  OperandPtr repeated;
  std::string how;
  const std::string_view which = mine_is_larger ? "golden" : "mine";
  if (view) {
    repeated = *view;
    how = fmt::format("{} broadcast to {}", which, larger->meta.shape.text());
  } else if (const auto axis = differing_dimension(a, b); axis && *axis == 0 && std::min(a[0], b[0]) > 0 &&
                                                          std::max(a[0], b[0]) % std::min(a[0], b[0]) == 0) {
    const int64_t times = std::max(a[0], b[0]) / std::min(a[0], b[0]);
    // A view, not a list of parts: as many as the shapes of two files say.
    ASSAY_TRY(OperandPtr stacked, strided(smaller, Shape{{times, smaller->meta.shape.count()}}, {0, 1}, 0));
    repeated = reshaped(std::move(stacked), larger->meta.shape);
    how = fmt::format("{} repeated {} times along dimension 0", which, times);
  } else {
    return std::optional<Aligned>();
  }
  return std::optional(mine_is_larger ? Aligned{mine, repeated, how} : Aligned{repeated, golden, how});
}

Result<std::optional<Aligned>> take_last_rows(const OperandPtr& mine, const OperandPtr& golden) {
  const Dims a = as_rows(mine->meta.shape).dims, b = as_rows(golden->meta.shape).dims;
  if (a[1] != b[1] || a[0] == b[0]) return std::optional<Aligned>();
  const bool mine_is_whole = a[0] > b[0];
  ASSAY_TRY(const auto view, last_rows(mine_is_whole ? mine : golden, std::min(a[0], b[0])));
  if (!view) return std::optional<Aligned>();
  return std::optional(mine_is_whole ? Aligned{*view, golden, "the last position of mine", true}
                                     : Aligned{mine, *view, "the last position of golden", true});
}

// What one rank of each side holds.
Result<std::optional<Aligned>> align_one_rank(const OperandPtr& mine, const OperandPtr& golden,
                                              const AlignRules& rules) {
  const Shape &a = mine->meta.shape, &b = golden->meta.shape;
  if (a.count() == b.count() && rules.flatten)
    return std::optional(
        Aligned{mine, golden, fmt::format("shape {} against {}, as many elements", a.text(), b.text())});
  if (rules.merge && a.count() == b.count() &&
      is_merged(without_leading_ones(a.dims), without_leading_ones(b.dims)))
    return std::optional(Aligned{
        mine, golden, fmt::format("shapes {} and {} differ in merged dimensions only", a.text(), b.text())});
  if (rules.last_row) {
    ASSAY_TRY(auto done, take_last_rows(mine, golden));
    if (done) return done;
  }
  if (rules.repeat && a.count() != b.count() && a.count() > 0 && b.count() > 0) return repeat(mine, golden);
  return std::optional<Aligned>();
}

}  // namespace

Result<std::optional<Aligned>> align(const Spread& mine, const Spread& golden, const AlignRules& rules) {
  const Shape &a = mine.own->meta.shape, &b = golden.own->meta.shape;
  if (a == b) return std::optional(Aligned{mine.own, golden.own});
  if (same_but_for_ones(a, b))
    return std::optional(
        Aligned{mine.own, golden.own,
                fmt::format("shapes {} and {} differ in dimensions of size 1 only", a.text(), b.text())});
  if (mine.ranks > 1 || golden.ranks > 1) {
    ASSAY_TRY(auto done,
              join_ranks(mine, golden, without_leading_ones(a.dims), without_leading_ones(b.dims)));
    if (!done) {
      ASSAY_TRY(done, join_ranks(mine, golden, as_rows(a).dims, as_rows(b).dims));
    }
    if (done) return done;
  }
  return align_one_rank(mine.own, golden.own, rules);
}

Result<OperandPtr> join_shards(const Spread& side, size_t axis, const Shape& shape_of_part) {
  std::vector<OperandPtr> parts;
  for (size_t rank = 0; rank < side.ranks; ++rank) {
    ASSAY_TRY(OperandPtr part, side.at_rank(rank));
    if (part->meta.shape != side.own->meta.shape)
      return fail(ErrorKind::mismatch,
                  "the ranks hold parts of shapes {} and {}; parts of one shape can be joined",
                  side.own->meta.shape.text(), part->meta.shape.text());
    parts.push_back(reshaped(std::move(part), shape_of_part));
  }
  return concatenated(std::move(parts), static_cast<int64_t>(axis));
}

Result<std::optional<OperandPtr>> broadcast_to(const OperandPtr& source, const Shape& shape) {
  const Dims& own = source->meta.shape.dims;
  if (own.size() > shape.dims.size()) return std::optional<OperandPtr>();
  Dims strides(shape.dims.size(), 0);
  int64_t stride = 1;
  for (size_t i = 0; i < own.size(); ++i) {
    const size_t from = own.size() - 1 - i, to = shape.dims.size() - 1 - i;
    if (own[from] != shape.dims[to] && own[from] != 1) return std::optional<OperandPtr>();
    strides[to] = own[from] == 1 ? 0 : stride;
    stride *= own[from];
  }
  ASSAY_TRY(OperandPtr view, strided(source, shape, strides, 0));
  return std::optional(std::move(view));
}

Result<std::optional<OperandPtr>> last_rows(const OperandPtr& whole, int64_t rows) {
  const Dims& dims = whole->meta.shape.dims;
  if (dims.size() < 2) return std::optional<OperandPtr>();
  const int64_t width = dims.back(), positions = dims[dims.size() - 2];
  const int64_t count = whole->meta.shape.count();
  if (positions < 2 || count == 0 || count / (positions * width) != rows) return std::optional<OperandPtr>();
  ASSAY_TRY(OperandPtr view,
            strided(whole, Shape{{rows, width}}, {positions * width, 1}, (positions - 1) * width));
  return std::optional(std::move(view));
}

Shape as_rows(const Shape& shape) {
  const int64_t last = shape.dims.empty() ? 1 : shape.dims.back();
  return Shape{{last == 0 ? 0 : shape.count() / last, last}};
}

std::string joined_note(std::string_view which, size_t ranks, size_t axis) {
  return fmt::format("{} joined from {} ranks along dimension {}", which, ranks, axis);
}

}  // namespace assay

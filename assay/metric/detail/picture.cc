#include "assay/metric/detail/picture.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace assay::detail {
namespace {

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr int64_t kMostShown = 512;  // entries of a profile

// Components of entry i of an axis, of which every index has so many.
int64_t count_of(const DetailAxis& axis, int64_t i, int64_t each) {
  return (std::min(axis.size, (i + 1) * axis.step) - i * axis.step) * each;
}

double relative(double squares, double golden) {
  if (squares == 0) return 0;
  return golden > 0 ? std::sqrt(squares / golden) : std::numeric_limits<double>::infinity();
}

// counts[i]: components of entry i.
void show_errors(const ErrorTable& errors, std::span<const int64_t> counts, int scale, DetailErrors& out) {
  for (size_t i = 0; i < counts.size(); ++i) {
    const int64_t finite = counts[i] - (errors.skipped.empty() ? 0 : errors.skipped[i]);
    out.max_abs.push_back(finite > 0 ? std::ldexp(errors.max[i], -scale) : kNan);
    out.mean_abs.push_back(finite > 0 ? std::ldexp(errors.abs[i] / static_cast<double>(finite), -scale)
                                      : kNan);
  }
  out.nonfinite = errors.apart;
  if (std::ranges::all_of(out.nonfinite, [](int64_t each) { return each == 0; })) out.nonfinite.clear();
}

// Several entries of an axis as one.
Profile taken_together(const Profile& fine, int64_t together) {
  Profile out{fine.axis, ErrorTable(0), {}};
  out.axis.step *= together;
  out.errors = ErrorTable(out.axis.entries());
  out.counts.resize(static_cast<size_t>(out.axis.entries()));
  for (int64_t i = 0; i < fine.errors.entries(); ++i) {
    const auto from = static_cast<size_t>(i);
    const int64_t to = i / together;
    out.errors.add(to, {.max = fine.errors.max[from],
                        .abs = fine.errors.abs[from],
                        .squares = fine.errors.squares[from],
                        .golden = fine.errors.golden[from]});
    if (!fine.errors.skipped.empty()) out.errors.skip(to, fine.errors.skipped[from], fine.errors.apart[from]);
    out.counts[static_cast<size_t>(to)] += fine.counts[from];
  }
  return out;
}

DetailProfile shown(const Profile& fine, int scale) {
  const int64_t together = (fine.errors.entries() + kMostShown - 1) / kMostShown;
  const Profile profile = taken_together(fine, std::max<int64_t>(1, together));
  DetailProfile out;
  out.axis = profile.axis;
  show_errors(profile.errors, profile.counts, scale, out);
  for (size_t i = 0; i < profile.counts.size(); ++i)
    out.rel_l2.push_back(
        std::isnan(out.max_abs[i]) ? kNan : relative(profile.errors.squares[i], profile.errors.golden[i]));
  return out;
}

DetailAxis map_axis(const Walk& walk, int dimension) {
  if (dimension < 0) return {};
  return {dimension, walk.dimensions()[static_cast<size_t>(dimension)].size, walk.map_step(dimension)};
}

void draw_map(const Looked& looked, int64_t components, Detail& out) {
  DetailMap& map = out.map;
  map.rows = map_axis(looked.walk, looked.walk.rows());
  map.columns = map_axis(looked.walk, looked.walk.columns());
  const int64_t each = components / (map.rows.size * map.columns.size);
  std::vector<int64_t> counts;
  for (int64_t row = 0; row < map.rows.entries(); ++row)
    for (int64_t column = 0; column < map.columns.entries(); ++column)
      counts.push_back(count_of(map.rows, row, count_of(map.columns, column, each)));
  show_errors(looked.sums.map, counts, looked.start.sums.scale, map);
}

void draw_values(const Looked& looked, Detail& out) {
  const PairSums& sums = looked.start.sums;
  out.is_logarithmic = looked.start.values.is_logarithmic;
  out.edges = edges_of(looked.start);
  out.scatter_bins = tile::kValueBins;
  out.scatter = looked.sums.cells;
  constexpr auto kBins = static_cast<size_t>(tile::kValueBins);
  out.mine_values.resize(kBins);
  out.golden_values.resize(kBins);
  for (size_t golden = 0; golden < kBins; ++golden)
    for (size_t mine = 0; mine < kBins; ++mine) {
      const int64_t count = out.scatter[golden * kBins + mine];
      out.golden_values[golden] += count;
      out.mine_values[mine] += count;
    }
  // What is equal, but for NaN against NaN and the like.
  out.zero_differences = sums.equal - (sums.count - sums.finite - sums.nonfinite_mismatch);
  std::vector<int64_t> sizes = looked.sums.sizes;
  sizes.front() -= out.zero_differences;
  const auto is_some = [](int64_t count) { return count != 0; };
  const auto first = std::ranges::find_if(sizes, is_some);
  if (first == sizes.end()) return;
  const auto last = std::find_if(sizes.rbegin(), sizes.rend(), is_some).base();
  out.differences.assign(first, last);
  for (auto each = first; each <= last; ++each) {
    const auto bits = static_cast<int32_t>((each - sizes.begin()) << tile::kSizeShift);
    out.difference_edges.push_back(std::ldexp(static_cast<double>(std::bit_cast<float>(bits)), -sums.scale));
  }
}

// Least squares in terms of d = mine - golden, which loses no digits where the two are close.
void fit(const PairSums& sums, Detail& out) {
  const auto n = static_cast<double>(sums.finite);
  const double golden = sums.golden.sum_squares, of_golden = sums.golden.sum, d = sums.diff;
  const double squares = sums.diff_squares, product = sums.dot - golden;  // Σ d·golden
  const auto rest = [&](double left) { return relative(std::max(0.0, left), golden); };
  const auto offset = [&](double each) { return std::ldexp(each, -sums.scale); };
  out.as_it_is = {1, 0, kNan};
  out.by_scale = out.by_offset = out.by_both = {kNan, kNan, kNan};
  if (sums.finite == 0) return;
  out.as_it_is.rel_l2 = rest(squares);
  if (golden > 0) out.by_scale = {1 + product / golden, 0, rest(squares - product * (product / golden))};
  out.by_offset = {1, offset(d / n), rest(squares - d * (d / n))};
  const double spread = golden - of_golden * (of_golden / n), together = product - d * (of_golden / n);
  if (!(spread > 1e-12 * golden)) return;  // golden is one value throughout
  const double slope = together / spread;
  out.by_both = {1 + slope, offset((d - slope * of_golden) / n),
                 rest(squares - d * (d / n) - together * slope)};
}

}  // namespace

std::vector<Profile> profiles_of(const Walk& walk, const DetailSums& sums, int64_t components) {
  std::vector<Profile> profiles;
  for (size_t i = 0; i < walk.dimensions().size(); ++i) {
    const WalkedDimension& d = walk.dimensions()[i];
    if (d.size < 2) continue;
    Profile& profile = profiles.emplace_back(DetailAxis{static_cast<int>(i), d.size, d.step}, ErrorTable(0));
    for (int64_t k = 0; k < d.entries(); ++k)
      profile.counts.push_back(count_of(profile.axis, k, components / d.size));
    if (!d.is_inner) {
      profile.errors = sums.outer[i];
      continue;
    }
    const ErrorTable& places = sums.places;
    profile.errors = ErrorTable(d.entries());
    for (int64_t at = 0; at < places.entries(); ++at) {
      const auto from = static_cast<size_t>(at);
      const int64_t to = walk.entry_of(i, at);
      profile.errors.add(to, {.max = places.max[from],
                              .abs = places.abs[from],
                              .squares = places.squares[from],
                              .golden = places.golden[from]});
      if (!places.skipped.empty()) profile.errors.skip(to, places.skipped[from], places.apart[from]);
    }
  }
  return profiles;
}

Detail draw(const Looked& looked) {
  const PairSums& sums = looked.start.sums;
  Detail out;
  out.shape = looked.shape;
  out.mine = looked.mine;
  out.golden = looked.golden;
  out.count = sums.count;
  out.finite = sums.finite;
  out.equal = sums.equal;
  out.nonfinite_apart = sums.nonfinite_mismatch;
  draw_values(looked, out);
  draw_map(looked, sums.count, out);
  for (const Profile& profile : looked.profiles) out.profiles.push_back(shown(profile, sums.scale));
  fit(sums, out);
  if (sums.worst < 0) return out;
  int64_t element = sums.worst / components(looked.mine);
  out.worst.resize(looked.shape.dims.size());
  for (size_t i = out.worst.size(); i-- > 0; element /= looked.shape.dims[i])
    out.worst[i] = element % looked.shape.dims[i];
  out.worst_mine = sums.worst_mine;
  out.worst_golden = sums.worst_golden;
  return out;
}

}  // namespace assay::detail

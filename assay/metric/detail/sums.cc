#include "assay/metric/detail/sums.h"

#include <algorithm>
#include <cmath>

namespace assay::detail {
namespace {

using tile::kValueBins;

// Where the largest value is so many times as large as is typical, even steps would show one bar.
constexpr double kWide = 8;
// The logarithm begins at this part of the typical size.
constexpr double kBend = 64;
constexpr double kMostOfFloat = 1e38;

template <class T>
void add_all(std::vector<T>& to, const std::vector<T>& from) {
  if (to.size() < from.size()) to.resize(from.size());
  for (size_t i = 0; i < from.size(); ++i) to[i] += from[i];
}

int32_t pattern_above_one(double value) {
  return std::bit_cast<int32_t>(static_cast<float>(value)) - std::bit_cast<int32_t>(1.0F);
}

}  // namespace

ErrorTable::ErrorTable(int64_t entries) {
  for (std::vector<double>* column : {&max, &abs, &squares, &golden})
    column->resize(static_cast<size_t>(entries));
}

void ErrorTable::add(int64_t entry, const tile::RunErrors& errors) {
  const auto i = static_cast<size_t>(entry);
  max[i] = std::max(max[i], errors.max);
  abs[i] += errors.abs;
  squares[i] += errors.squares;
  golden[i] += errors.golden;
}

void ErrorTable::skip(int64_t entry, int64_t pairs, int64_t pairs_apart) {
  if (skipped.empty()) {
    skipped.resize(max.size());
    apart.resize(max.size());
  }
  skipped[static_cast<size_t>(entry)] += pairs;
  apart[static_cast<size_t>(entry)] += pairs_apart;
}

void ErrorTable::clear() {
  for (std::vector<double>* column : {&max, &abs, &squares, &golden}) std::ranges::fill(*column, 0.0);
  skipped.clear();
  apart.clear();
}

void ErrorTable::merge(const ErrorTable& later) {
  for (size_t i = 0; i < max.size(); ++i) max[i] = std::max(max[i], later.max[i]);
  add_all(abs, later.abs);
  add_all(squares, later.squares);
  add_all(golden, later.golden);
  add_all(skipped, later.skipped);
  add_all(apart, later.apart);
}

std::vector<int64_t> sample_starts(int64_t components) {
  std::vector<int64_t> starts;
  if (components <= kSampleRun * kSampleRuns) {
    for (int64_t at = 0; at < components; at += kSampleRun) starts.push_back(at);
    return starts;
  }
  // Multiples of the golden ratio, modulo 1: even, and in step with no dimension.
  constexpr uint64_t kGolden = 0x9E3779B97F4A7C15;
  const auto room = static_cast<uint64_t>(components - kSampleRun + 1);
  for (uint64_t i = 0; i < kSampleRuns; ++i) {
    __extension__ using Wide = unsigned __int128;
    starts.push_back(static_cast<int64_t>(static_cast<Wide>(i * kGolden) * room >> 64));
  }
  std::ranges::sort(starts);
  return starts;
}

DetailSums::DetailSums(const Walk& walk) : places(walk.groups()), map(walk.map_rows() * walk.map_columns()) {
  for (size_t i = 0; i < walk.outer(); ++i) outer.emplace_back(walk.dimensions()[i].entries());
}

void DetailSums::merge(DetailSums&& later) {
  places.merge(later.places);
  for (size_t i = 0; i < outer.size(); ++i) outer[i].merge(later.outer[i]);
  map.merge(later.map);
  add_all(cells, later.cells);
  add_all(sizes, later.sizes);
  zeros += later.zeros;
  zero_squares += later.zero_squares;
  stuck += later.stuck;
  stuck_squares += later.stuck_squares;
  mine_nans += later.mine_nans;
  mine_infs += later.mine_infs;
  golden_nans += later.golden_nans;
  golden_infs += later.golden_infs;
  sample.insert(sample.end(), later.sample.begin(), later.sample.end());
}

DetailStart start_of(const PairSums& sums) {
  DetailStart start{sums, {}, std::numeric_limits<double>::infinity(), sums.finite < sums.count};
  if (sums.finite == 0) return start;
  const auto scaled = [&](double value) { return std::ldexp(value, sums.scale); };
  double low = scaled(std::min(sums.mine.min, sums.golden.min));
  double high = scaled(std::max(sums.mine.max, sums.golden.max));
  const double mine_largest = std::max(-sums.mine.min, sums.mine.max);
  const double golden_largest = std::max(-sums.golden.min, sums.golden.max);
  if (golden_largest > mine_largest) start.limit = scaled(mine_largest);
  const double largest = std::max(-low, high);
  const double typical =
      std::sqrt((sums.mine.sum_squares + sums.golden.sum_squares) / (2 * static_cast<double>(sums.finite)));
  tile::ValueScale& values = start.values;
  if ((largest > kWide * typical || high - low > kMostOfFloat) && typical > 0 && std::isfinite(typical)) {
    values.is_logarithmic = true;
    values.per_unit = kBend / typical;
    values.per_pattern =
        (kValueBins / 2) / static_cast<double>(pattern_above_one(1 + largest * values.per_unit));
    return start;
  }
  if (!(low < high)) {  // one value throughout: it stands in the middle
    const double room = low == 0 ? 1 : std::abs(low) / 2;
    low -= room;
    high += room;
  }
  values.low = low;
  values.per_unit = kValueBins / (high - low);
  return start;
}

std::vector<double> edges_of(const DetailStart& start) {
  const tile::ValueScale& values = start.values;
  std::vector<double> edges;
  for (int32_t i = 0; i <= kValueBins; ++i) {
    double edge = values.low + i / values.per_unit;
    if (values.is_logarithmic) {
      const int32_t steps = std::abs(i - kValueBins / 2);
      const auto pattern = static_cast<int32_t>(std::lround(steps / values.per_pattern));
      const double away = std::bit_cast<float>(pattern + std::bit_cast<int32_t>(1.0F));
      edge = std::copysign((away - 1) / values.per_unit, i - kValueBins / 2);
    }
    edges.push_back(std::ldexp(edge, -start.sums.scale) + 0.0);
  }
  return edges;
}

}  // namespace assay::detail

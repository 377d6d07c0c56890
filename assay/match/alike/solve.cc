#include "assay/match/alike/solve.h"

#include <algorithm>
#include <cmath>
#include <random>
#include <set>

namespace assay {
namespace {

constexpr size_t kFirstLook = 12, kSecondLook = 160;
constexpr double kAsGood = 0.02;
constexpr double kMayFit = 0.4, kFits = 0.6;  // of unrelated tensors, 5 of 100 elements are close by chance

bool is_close(double a, double b, double typical) {
  if (!std::isfinite(a) || !std::isfinite(b)) return std::isnan(a) ? std::isnan(b) : a == b;
  return std::abs(a - b) <= 0.02 * std::max(std::abs(a), std::abs(b)) + 0.03 * typical;
}

// Elements that tell arrangements apart: the first rows and columns, and others by chance.
std::vector<int64_t> choose_places(int64_t count, size_t elements) {
  std::vector<int64_t> places;
  if (count <= static_cast<int64_t>(elements)) {
    for (int64_t i = 0; i < count; ++i) places.push_back(i);
    return places;
  }
  std::mt19937_64 chance(static_cast<uint64_t>(count));
  for (size_t i = 0; i < elements; ++i)
    places.push_back(static_cast<int64_t>(chance() % static_cast<uint64_t>(count)));
  std::sort(places.begin(), places.end());
  return places;
}

}  // namespace

Solver::Probe Solver::probe(const PlanSource& part, int64_t count, size_t elements) const {
  Probe probe{choose_places(count, elements), {}, 0};
  probe.values = contents_.elements(part, probe.places);
  double squares = 0;
  for (const double value : probe.values) squares += std::isfinite(value) ? value * value : 0;
  if (!probe.values.empty()) probe.typical = std::sqrt(squares / static_cast<double>(probe.values.size()));
  return probe;
}

double Solver::fit(const Probe& probe, const Arrangement& arrangement,
                   std::span<const PlanSource> sources) const {
  if (probe.values.size() != probe.places.size() || probe.places.empty()) return 0;
  std::vector<std::vector<int64_t>> places(sources.size());
  std::vector<std::vector<size_t>> of_probe(sources.size());
  for (size_t i = 0; i < probe.places.size(); ++i) {
    const auto [source, index] = arrangement.place(probe.places[i]);
    places[source].push_back(index);
    of_probe[source].push_back(i);
  }
  size_t close = 0;
  for (size_t s = 0; s < sources.size(); ++s) {
    if (places[s].empty()) continue;
    const std::vector<double> values = contents_.elements(sources[s], places[s]);
    for (size_t i = 0; i < values.size(); ++i)
      close += is_close(probe.values[of_probe[s][i]], values[i], probe.typical);
  }
  return static_cast<double>(close) / static_cast<double>(probe.places.size());
}

double Solver::fit_all(std::span<const Probe> probes, const std::vector<Arrangement>& candidate,
                       std::span<const PlanSource> sources) const {
  double least = 1;
  for (size_t part = 0; part < probes.size() && least >= kMayFit; ++part)
    least = std::min(least, fit(probes[part], candidate[part], sources));
  return least;
}

bool Solver::is_likely(std::span<const PlanSource> parts, std::span<const int64_t> counts,
                       std::span<const PlanSource> sources,
                       const std::vector<Arrangement>& arrangement) const {
  for (size_t part = 0; part < parts.size(); ++part)
    if (fit(probe(parts[part], counts[part], kFirstLook), arrangement[part], sources) < kFits) return false;
  return true;
}

std::optional<Solved> Solver::solve(std::span<const PlanSource> parts, std::span<const int64_t> counts,
                                    std::span<const PlanSource> sources,
                                    std::span<const std::vector<Arrangement>> candidates) const {
  if (candidates.empty()) return std::nullopt;
  std::vector<Probe> first, second;
  for (size_t part = 0; part < parts.size(); ++part)
    first.push_back(probe(parts[part], counts[part], kFirstLook));
  std::vector<std::pair<double, size_t>> fits;
  for (size_t i = 0; i < candidates.size(); ++i) {
    if (fit_all(first, candidates[i], sources) < kMayFit) continue;
    if (second.empty())
      for (size_t part = 0; part < parts.size(); ++part)
        second.push_back(probe(parts[part], counts[part], kSecondLook));
    const double its_fit = fit_all(second, candidates[i], sources);
    if (its_fit < kFits) continue;
    fits.emplace_back(its_fit, i);
  }
  if (fits.empty()) return std::nullopt;
  const double best = std::ranges::max(fits).first;
  std::erase_if(fits, [&](const auto& each) { return each.first < best - kAsGood; });
  // Two ways to say the same are one.
  std::set<std::vector<std::pair<size_t, int64_t>>> different;
  for (const auto& [its_fit, i] : fits) {
    std::vector<std::pair<size_t, int64_t>> places;
    for (size_t part = 0; part < parts.size(); ++part)
      for (const int64_t place : second[part].places) {
        const auto [source, index] = candidates[i][part].place(place);
        places.emplace_back(source, index);
      }
    different.insert(std::move(places));
  }
  return Solved{fits.front().second, different.size() - 1};
}

}  // namespace assay

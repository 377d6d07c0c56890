#include "assay/match/alike/solve.h"

#include <algorithm>
#include <cmath>
#include <random>
#include <set>

namespace assay {
namespace {

constexpr size_t kFirstLook = 12, kSecondLook = 160;
// Where others of the kind have shown how they lie: of all parts together, and of each at least.
constexpr size_t kLooksAgain = 6, kLeastOfPart = 4, kLeastOfMany = 2, kManyParts = 4;
constexpr double kAsGood = 0.02;
constexpr double kMayFit = 0.4, kFits = 0.6;  // of unrelated tensors, 5 of 100 elements are close by chance

// Rounding leaves elements close to each other; others of the same tensor are not.
bool is_close(double a, double b, double mean, double spread) {
  if (!std::isfinite(a) || !std::isfinite(b)) return std::isnan(a) ? std::isnan(b) : a == b;
  constexpr double kRounding = 1.0 / 256;  // of bf16
  return std::abs(a - b) <= 0.02 * std::max(std::abs(a - mean), std::abs(b - mean)) + 0.03 * spread +
                                kRounding * std::max(std::abs(a), std::abs(b));
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

const std::vector<int64_t>& Solver::places_of(int64_t count, size_t elements) const {
  const auto [found, is_new] = places_.try_emplace({count, elements});
  if (is_new) found->second = choose_places(count, elements);
  return found->second;
}

Solver::Probe Solver::probe(const SoughtPart& part, size_t elements) const {
  Probe probe{places_of(part.count, elements), {}};
  std::vector<int64_t> places = probe.places;
  for (int64_t& place : places) place += part.first;
  probe.values = contents_.elements(part.from, places);
  double sum = 0, squares = 0, finite = 0;
  for (const double value : probe.values) {
    if (!std::isfinite(value)) continue;
    sum += value;
    ++finite;
  }
  probe.is_finite = finite > 0;
  if (!probe.is_finite) return probe;
  probe.mean = sum / finite;
  for (const double value : probe.values)
    if (std::isfinite(value)) squares += (value - probe.mean) * (value - probe.mean);
  probe.spread = std::sqrt(squares / finite);
  return probe;
}

double Solver::fit(const Probe& probe, const Arrangement& arrangement,
                   std::span<const PlanSource> sources) const {
  if (probe.values.size() != probe.places.size() || probe.places.empty()) return 0;
  std::vector<std::vector<int64_t>> places(sources.size());
  std::vector<std::vector<size_t>> of_probe(sources.size());
  const size_t expected = probe.places.size() / sources.size() + probe.places.size() % sources.size();
  for (size_t s = 0; s < sources.size(); ++s) {
    places[s].reserve(expected);
    of_probe[s].reserve(expected);
  }
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
      close += is_close(probe.values[of_probe[s][i]], values[i], probe.mean, probe.spread);
  }
  return static_cast<double>(close) / static_cast<double>(probe.places.size());
}

std::vector<double> Solver::fit_all(std::span<const Probe> probes, const std::vector<Arrangement>& candidate,
                                    std::span<const PlanSource> sources, double least,
                                    PartsThatFit wanted) const {
  std::vector<double> fits;
  for (size_t part = 0; part < probes.size(); ++part) {
    fits.push_back(fit(probes[part], candidate[part], sources));
    if (fits.back() < least && wanted == PartsThatFit::all) break;
  }
  return fits;
}

bool Solver::is_padding_zero(const Arrangement& arrangement, std::span<const PlanSource> sources) const {
  constexpr size_t kLooks = 24;
  const Window& window = *arrangement.window;
  std::mt19937_64 chance(7);
  std::vector<std::vector<int64_t>> places(sources.size());
  for (size_t look = 0; look < kLooks; ++look) {
    int64_t place = 0;
    for (size_t i = 0; i < window.of.size(); ++i) {
      const int64_t first = window.count[i] == window.of[i] ? 0 : window.count[i];
      place = place * window.of[i] + first +
              static_cast<int64_t>(chance() % static_cast<uint64_t>(window.of[i] - first));
    }
    Arrangement all = arrangement;
    all.window.reset();
    all.order.reset();
    const auto [source, index] = all.place(place);
    places[source].push_back(index);
  }
  for (size_t s = 0; s < sources.size(); ++s) {
    const std::vector<double> values = contents_.elements(sources[s], places[s]);
    if (values.size() != places[s].size() || std::ranges::any_of(values, [](double v) { return v != 0; }))
      return false;
  }
  return true;
}

bool Solver::is_likely(std::span<const SoughtPart> parts, std::span<const PlanSource> sources,
                       const std::vector<Arrangement>& arrangement, bool by_name) const {
  // Many shares of one tensor need fewer looks at each: what lies otherwise is seen in one of them.
  const size_t together = by_name ? kLooksAgain / 2 : kLooksAgain,
               least = by_name ? kLeastOfMany : kLeastOfPart;
  const size_t looks = parts.size() >= kManyParts ? kLeastOfMany : std::max(least, together / parts.size());
  for (size_t part = 0; part < parts.size(); ++part)
    if (fit(probe(parts[part], looks), arrangement[part], sources) < kFits) return false;
  return true;
}

std::optional<Solved> Solver::solve(std::span<const SoughtPart> parts, std::span<const PlanSource> sources,
                                    std::span<const std::vector<Arrangement>> candidates,
                                    PartsThatFit wanted) const {
  if (candidates.empty()) return std::nullopt;
  struct Fitting {
    size_t which, parts;  // how many of them fit
    double least;         // … of those that do
    std::vector<size_t> misfits;
  };
  std::vector<Probe> first, second;
  for (size_t part = 0; part < parts.size(); ++part) first.push_back(probe(parts[part], kFirstLook));
  const auto count_fits = [](const std::vector<double>& fits, double least) {
    return static_cast<size_t>(std::ranges::count_if(fits, [&](double fit) { return fit >= least; }));
  };
  const size_t needed = wanted == PartsThatFit::all ? parts.size() : std::max<size_t>(1, parts.size() / 2);
  std::vector<Fitting> fitting;
  for (size_t i = 0; i < candidates.size(); ++i) {
    if (count_fits(fit_all(first, candidates[i], sources, kMayFit, wanted), kMayFit) < needed) continue;
    if (second.empty())
      for (size_t part = 0; part < parts.size(); ++part) second.push_back(probe(parts[part], kSecondLook));
    const std::vector<double> fits = fit_all(second, candidates[i], sources, kFits, wanted);
    if (count_fits(fits, kFits) < needed) continue;
    Fitting& found = fitting.emplace_back(Fitting{i, 0, 1, {}});
    for (size_t part = 0; part < fits.size(); ++part)
      if (fits[part] >= kFits) {
        ++found.parts;
        found.least = std::min(found.least, fits[part]);
      } else {
        found.misfits.push_back(part);
      }
    const Arrangement& one = candidates[i][0];
    // Zeros are found in anything that is padded.
    if (one.window && one.window->is_padded && (second[0].spread == 0 || !is_padding_zero(one, sources)))
      fitting.pop_back();
  }
  if (fitting.empty()) return std::nullopt;
  const size_t most = std::ranges::max(fitting, {}, &Fitting::parts).parts;
  std::erase_if(fitting, [&](const Fitting& each) { return each.parts < most; });
  const double best = std::ranges::max(fitting, {}, &Fitting::least).least;
  std::erase_if(fitting, [&](const Fitting& each) { return each.least < best - kAsGood; });
  // Two ways to say the same are one.
  std::set<std::vector<std::pair<size_t, int64_t>>> different;
  for (const Fitting& each : fitting) {
    std::vector<std::pair<size_t, int64_t>> places;
    for (size_t part = 0; part < parts.size(); ++part)
      for (const int64_t place : second[part].places) {
        const auto [source, index] = candidates[each.which][part].place(place);
        places.emplace_back(source, index);
      }
    different.insert(std::move(places));
  }
  // Of one number throughout, it does not matter.
  const bool is_constant = std::ranges::all_of(second, [](const Probe& each) { return each.spread == 0; });
  return Solved{fitting.front().which, is_constant ? 0 : different.size() - 1,
                std::move(fitting.front().misfits), is_constant,
                std::ranges::any_of(second, &Probe::is_finite)};
}

}  // namespace assay

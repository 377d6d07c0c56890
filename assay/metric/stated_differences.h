// Differences of what two dumps state of a tensor: of max, min, mean and norm, each with its own share.
#pragma once

#include "assay/metric/metric.h"

#include <array>

namespace assay {

// The statistics of the finite part of one side, as a dump would state them.
Stated statistics_of(const Gathered& gathered, const SideSums& side);

// diff: mine against golden; percent: its size in percent of golden. What is not set is absent.
using DifferenceOf = void (*)(const Scalar& mine, const Scalar& golden, Value& diff, Value& percent);

// For Metric::finish_stated and Metric::finish: the four differences, then the four percentages.
template <DifferenceOf kDifference>
void differences(const Stated& mine, const Stated& golden, std::span<Value> out) {
  const auto four = [](const Stated& s) { return std::array{&s.max, &s.min, &s.mean, &s.norm}; };
  const auto m = four(mine), g = four(golden);
  for (size_t i = 0; i < 4; ++i) kDifference(*m[i], *g[i], out[i], out[4 + i]);
}

template <DifferenceOf kDifference>
void differences(const Gathered& g, std::span<Value> out) {
  differences<kDifference>(statistics_of(g, g.pair.mine), statistics_of(g, g.pair.golden), out);
}

}  // namespace assay

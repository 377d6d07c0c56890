#include "assay/metric/rank.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace assay {
namespace {

RankTable make_table(DType dtype) {
  std::array<std::byte, 256> patterns;
  for (size_t i = 0; i < patterns.size(); ++i) patterns[i] = static_cast<std::byte>(i);
  std::array<double, 256> values;
  to_f64(dtype, patterns.data(), static_cast<int64_t>(patterns.size()), values.data());

  std::array<size_t, 256> order;
  std::iota(order.begin(), order.end(), size_t{0});
  const auto behind_all = [](double x) {
    return std::isnan(x) ? std::numeric_limits<double>::infinity() : x;
  };
  std::stable_sort(order.begin(), order.end(),
                   [&](size_t a, size_t b) { return behind_all(values[a]) < behind_all(values[b]); });

  RankTable rank{};
  for (size_t k = 1; k < order.size(); ++k)
    rank[order[k]] =
        rank[order[k - 1]] + (behind_all(values[order[k]]) > behind_all(values[order[k - 1]]) ? 1 : 0);
  return rank;
}

}  // namespace

const RankTable& rank_table(DType dtype) {
  static const std::array<RankTable, kDTypeCount> tables = [] {
    std::array<RankTable, kDTypeCount> made{};
    for (int i = 0; i < kDTypeCount; ++i)
      if (size_of(static_cast<DType>(i)) == 1)
        made[static_cast<size_t>(i)] = make_table(static_cast<DType>(i));
    return made;
  }();
  return tables[static_cast<size_t>(dtype)];
}

}  // namespace assay

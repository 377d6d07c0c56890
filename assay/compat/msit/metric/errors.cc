#include "assay/compat/msit/metric/metrics.h"
#include "assay/compat/msit/metric/tile_errors.h"
#include "assay/metric/families.h"

#include <algorithm>

namespace assay {
namespace {

class MsitErrorSums final : public OwnSums {
 public:
  void add(const float* mine, const float* golden, int64_t n) override {
    take(tile::msit_errors(mine, golden, n));
  }
  void add(const double* mine, const double* golden, int64_t n) override {
    take(tile::msit_errors(mine, golden, n));
  }
  void merge(const OwnSums& later) override { take(dynamic_cast<const MsitErrorSums&>(later).all_); }

  const tile::MsitErrors& all() const { return all_; }

 private:
  void take(const tile::MsitErrors& later) {
    all_.max_ratio = std::max(all_.max_ratio, later.max_ratio);
    all_.sum_ratio += later.sum_ratio;
    all_.max_size = std::max(all_.max_size, later.max_size);
    all_.sum_size += later.sum_size;
  }

  tile::MsitErrors all_;
};

std::unique_ptr<OwnSums> open_errors(DType, DType) { return std::make_unique<MsitErrorSums>(); }

}  // namespace

// Elements with |g| <= 2^-23 count as 0, also for absolute errors; means over all elements.
const Metric msit_metric{
    "msit",
    {"max_rel_msit", "mean_rel_msit", "max_abs_msit", "mean_abs_msit"},
    gather::sums,
    false,
    "errors as msit defines them: elements with |g| <= 2^-23 count as 0",
    [](const Gathered& g, std::span<Value> out) {
      const auto& errors = dynamic_cast<const MsitErrorSums&>(g.own_sums_by(open_errors)).all();
      const bool any = g.pair.finite > 0;
      const auto mean = [&g](double sum) { return sum / static_cast<double>(g.pair.finite); };
      out[0] = number_or_absent(errors.max_ratio, any);
      out[1] = number_or_absent(mean(errors.sum_ratio), any);
      out[2] = number_or_absent(errors.max_size, any);
      out[3] = number_or_absent(mean(errors.sum_size), any);
    },
    nullptr,
    open_errors};

MetricTable msit_metrics() {
  static constexpr const Metric* kTable[] = {&msit_metric, &msit_similarity_metric, &msit_stated_metric,
                                             &logits_metric, &opcheck_metric};
  return kTable;
}

}  // namespace assay

// What one pass over a pair collects for its detail.
#pragma once

#include "assay/metric/detail/runs.h"
#include "assay/metric/detail/tile_errors.h"
#include "assay/metric/gathered.h"

namespace assay::detail {

// Errors of several entries, over the pairs that are finite on both sides.
struct ErrorTable {
  std::vector<double> max, abs, squares, golden;  // max |d|, Σ|d|, Σd², Σgolden²
  // Pairs that are not finite on both sides, and those of them that are not the same; empty: there are none.
  std::vector<int64_t> skipped, apart;

  explicit ErrorTable(int64_t entries = 0);
  int64_t entries() const { return std::ssize(max); }
  void add(int64_t entry, const tile::RunErrors& errors);
  void skip(int64_t entry, int64_t pairs, int64_t apart);
  void clear();
  void merge(const ErrorTable& later);
};

// Both sides of a few places: all of a small tensor, else runs spread evenly.
struct Sampled {
  int64_t at = 0;  // component
  double mine = 0, golden = 0;
};
inline constexpr int64_t kSampleRun = 32, kSampleRuns = 256;
std::vector<int64_t> sample_starts(
    int64_t components);  // rising; of runs of kSampleRun, or as many as there are

struct DetailSums {
  ErrorTable places;              // by the place within a run
  std::vector<ErrorTable> outer;  // by the entry of an outer dimension
  ErrorTable map;                 // max, abs and counts alone
  std::vector<int64_t> cells = std::vector<int64_t>(tile::kValueBins * tile::kValueBins);
  std::vector<int64_t> sizes = std::vector<int64_t>(tile::kSizeBins);
  double zeros = 0, zero_squares = 0, stuck = 0, stuck_squares = 0;  // see tile::RunErrors
  // Numbers of the one side whose partner is NaN or infinite.
  int64_t mine_nans = 0, mine_infs = 0, golden_nans = 0, golden_infs = 0;
  std::vector<Sampled> sample;

  explicit DetailSums(const Walk& walk);
  void merge(DetailSums&& later);
};

// What the common pass has told before this one begins.
struct DetailStart {
  PairSums sums;
  tile::ValueScale values;
  double limit = 0;  // see tile::run_errors
  bool has_nonfinite = false;
};
DetailStart start_of(const PairSums& sums);
// Edges of the bins: kValueBins + 1 of them, rising.
std::vector<double> edges_of(const DetailStart& start);

}  // namespace assay::detail

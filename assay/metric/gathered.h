// What one pass over a pair of tensors collects. All sums are f64; see docs/metrics.md for the order of
// summation.
#pragma once

#include "assay/base/result.h"
#include "assay/model/closeness.h"
#include "assay/model/neighbours.h"
#include "assay/tensor/dtype.h"

#include <array>
#include <bit>
#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace assay {

class Operand;

using GatherMask = uint32_t;
namespace gather {
inline constexpr GatherMask sums =
    1;  // dot products, squared differences, extremes, counts, the worst element
inline constexpr GatherMask means = 2;       // sums of d and |d|
inline constexpr GatherMask relative = 4;    // relative errors
inline constexpr GatherMask ulp = 8;         // ULP distance
inline constexpr GatherMask quantiles = 16;  // distribution of |d|
inline constexpr GatherMask ulp_quantiles = 32;
inline constexpr GatherMask softmax = 64;  // KL divergence
inline constexpr GatherMask crc32 = 128;
inline constexpr GatherMask md5 = 256;
// What the rows of logits choose; only of pairs that are logits
inline constexpr GatherMask arg_max = GatherMask{1} << 20;
inline constexpr GatherMask absolutes = 1 << 16;  // sums of |x| of each side
inline constexpr GatherMask rest = 1 << 18;       // of the elements beside large ones
inline constexpr GatherMask close = 1 << 19;      // elements beyond GatherPlan::closeness
// What a second pass over values that were too large or too small gives: see PairSums::scale.
inline constexpr GatherMask scaled = sums | means | absolutes;
}  // namespace gather

// One side. Sums and extremes run over its finite elements where the other side is finite too ("the finite
// part").
struct SideSums {
  double sum = 0;  // scaled, as PairSums says
  double sum_squares = 0;
  double sum_absolute = 0;  // only if asked for
  double min = std::numeric_limits<double>::infinity();
  double max = -std::numeric_limits<double>::infinity();
  int64_t nans = 0, infs = 0;
};

inline constexpr std::array<double, 2> kLarge = {100, 1000};

struct PairSums {
  SideSums mine, golden;
  int64_t count = 0;               // components in all (2 per complex element)
  int64_t finite = 0;              // pairs where both are finite: what everything below is measured on
  int64_t equal = 0;               // equal values (0 == -0), or NaN against NaN, or the same infinity
  int64_t nonfinite_mismatch = 0;  // NaN or Inf on one side only, or another one on the other side
  int64_t kind_mismatch = 0;       // those of them that are not +Inf against -Inf
  // All sums, here and of the two sides, are those of the values times 2^scale (products and squares:
  // 2^2scale). 0 but for f64 data so large or small that their squares would overflow or vanish.
  int scale = 0;
  double dot = 0, diff_squares = 0;
  // Of the pairs whose golden element is smaller than one of kLarge: beside the fill of a mask, or one
  // massive activation, all other elements drown.
  struct Rest {
    double diff_squares = 0, golden_squares = 0;
    int64_t count = 0;
  };
  std::array<Rest, kLarge.size()> rest = {};
  double diff = 0, abs_diff = 0;
  double max_abs = -1;  // -1: no finite pair
  int64_t worst = -1;   // index of the first component with that difference; where NaN or Inf stand against
                        // something else, the first such place: nothing is worse
  double worst_mine = 0, worst_golden = 0;
  Neighbours near;        // of the worst, as far as they were at hand
  int64_t not_close = 0;  // elements beyond GatherPlan::closeness; only if asked for
};

// Relative error r = |mine - golden| / |golden| of the finite pairs.
struct RelativeSums {
  double max = 0, sum = 0;  // pairs with golden == 0 are left out …
  int64_t counted = 0;      // pairs with golden != 0
  int64_t zero_golden = 0;  // … and counted, where mine is not zero as well
  // With golden == 0 as if it were 2^-52, or an error of 0 where mine is 0 too.
  double max_over_zero = 0;
  int64_t under_1e3 = 0, under_5e3 = 0;  // r < 0.001, r < 0.005
};

// Sums that a metric brings along because no other one wants them.
class OwnSums {
 public:
  virtual ~OwnSums() = default;
  // At most tile::kTile pairs, in order, as they were widened to be measured. A pair that is not finite comes
  // as 0 against 0.
  virtual void add(const float* mine, const float* golden, int64_t n) = 0;
  virtual void add(const double* mine, const double* golden, int64_t n) = 0;
  virtual void merge(const OwnSums& later) = 0;  // of the same kind; it covers the elements behind ours
};
using OpenOwnSums = std::unique_ptr<OwnSums> (*)(DType mine, DType golden);  // the types as dumped

// What a metric measures in a pass of its own: the common one leaves out elements that are not finite.
struct OwnPass {
  virtual ~OwnPass() = default;
};
using RunOwnPass = Result<std::shared_ptr<const OwnPass>> (*)(const Operand& mine, const Operand& golden);

// What is to be gathered of a pair.
struct GatherPlan {
  GatherMask needs = 0;
  std::span<const OpenOwnSums> own_sums = {};
  // ULPs are steps of this type where both sides are finer reals.
  std::optional<DType> steps_of = {};
  Closeness closeness = {};
};

struct UlpSums {
  DType dtype = DType::f32;  // the coarser of the two: what one ULP means
  uint64_t max = 0;
  double sum = 0;
};

// Counts in log-spaced bins, 64 per power of two: a value is known to within 0.8 %, and integers below 128
// exactly.
class LogHistogram {
 public:
  void add(const float* values, int64_t n);  // values >= 0; infinity is the last bin
  void merge(const LogHistogram& other);
  // The value below or at which a share q of all values lies: the middle of its bin; exact for 0. NaN if
  // there is none.
  double quantile(double q) const;
  int64_t total() const { return total_; }

 private:
  static constexpr int kShift = 17;  // leaves the exponent and six bits of the fraction
  static constexpr size_t kBins = (0x7F800000u >> kShift) + 1;
  // Four narrow tables take turns, so that neighbours in the same bin (the rule in bf16) do not wait for each
  // other.
  static constexpr size_t kTables = 4;
  static constexpr int64_t kMostPending = int64_t{1} << 31;
  void settle();  // moves what is pending into counts_
  uint64_t count(size_t bin) const;
  std::vector<uint64_t> counts_ = std::vector<uint64_t>(kBins);
  std::vector<uint32_t> pending_ = std::vector<uint32_t>(kTables * kBins);
  int64_t pending_total_ = 0, total_ = 0;
};

// Softmax sums that carry their maximum, so that blocks can be joined: z = Σ exp(x - peak).
struct SoftmaxSums {
  double mine_peak = -std::numeric_limits<double>::infinity(), mine_z = 0;
  double golden_peak = -std::numeric_limits<double>::infinity(), golden_z = 0;
  double cross = 0;  // Σ exp(g - golden_peak) · (g - m)

  void merge(const SoftmaxSums& later);
};

struct ArgMax;       // assay/model/outcome.h
struct Bounded;      // assay/model/bounded.h
struct NumberRange;  // assay/model/number_range.h

struct Gathered {
  DType mine_dtype = DType::f32, golden_dtype = DType::f32;
  PairSums pair;
  RelativeSums relative;
  UlpSums ulp;
  std::unique_ptr<LogHistogram> abs_diff, ulps;  // only if asked for
  SoftmaxSums softmax;
  std::shared_ptr<const ArgMax> arg_max;
  std::shared_ptr<const Bounded> bounded;    // where golden was computed
  std::shared_ptr<const NumberRange> range;  // where a tensor stands by itself
  std::string mine_crc32, golden_crc32, mine_md5, golden_md5;
  struct Own {
    OpenOwnSums opened_by;
    std::unique_ptr<OwnSums> sums;
  };
  std::vector<Own> own_sums;  // only those asked for
  std::vector<std::pair<RunOwnPass, std::shared_ptr<const OwnPass>>> own_passes;

  void merge(const Gathered& later);       // `later` covers the elements behind ours
  void take_sums(const Gathered& scaled);  // of the same elements, gathered with another scale
  const OwnSums& own_sums_by(OpenOwnSums opened_by) const;  // they were asked for
  const OwnPass* own_pass_by(RunOwnPass run) const;         // null: it was not run
};

}  // namespace assay

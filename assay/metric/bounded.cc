#include "assay/metric/bounded.h"

#include "assay/metric/families.h"
#include "assay/tensor/dtype_limits.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <vector>

namespace assay {
namespace {

constexpr double kInfinite = std::numeric_limits<double>::infinity();
// The bound and the error are computed in f64 themselves.
constexpr double kSlack = 1 + 1e-9;

// Where numbers of a type end, and how far apart they lie.
struct Steps {
  bool is_real;
  int mantissa_bits;
  int least_exponent;  // of normal numbers
  double largest;      // finite

  explicit Steps(DType dtype) : is_real(assay::is_real(dtype)), mantissa_bits(info(dtype).mantissa_bits) {
    least_exponent = dtype == DType::f16 ? -14 : dtype == DType::f64 ? -1022 : -126;
    largest = limits_of(dtype).largest;
  }
  // What rounding to the type may cost at a number.
  double half(double value) const {
    if (!is_real) return 0.5;
    if (!std::isfinite(value)) return 0;
    // Powers of two, made of their exponents. f64 has steps below its smallest normal number.
    const auto exponent = static_cast<int>(std::bit_cast<uint64_t>(value) >> 52 & 0x7FF) - 1023;
    const int half = std::max(exponent, least_exponent) - mantissa_bits - 1;
    return half < -1022 ? std::ldexp(1.0, half)
                        : std::bit_cast<double>(static_cast<uint64_t>(half + 1023) << 52);
  }
};

// Whole numbers of 64 bits do not fit f64.
bool is_exact_in_f64(DType dtype) { return dtype != DType::i64 && dtype != DType::u64; }

void widen(const Block& block, std::vector<double>& out) {
  out.resize(static_cast<size_t>(block.count));
  to_f64(block.dtype, block.data, block.count, out.data());
}

// The type whose steps the elements have: the coarser one, where the dump keeps another than the operator
// writes.
DType type_of_steps(DType mine, DType expected) {
  return assay::is_real(mine) && assay::is_real(expected) ? coarser(mine, expected) : expected;
}

// What stays in a cache, and what is made together is read together.
int64_t elements_at_once(const Expected& expected) {
  constexpr int64_t kElements = 8192;
  if (expected.together == nullptr) return kElements;
  return expected.together->granule * std::max<int64_t>(1, kElements / expected.together->granule);
}

double error_in_units(double mine, double expected, double bound, const Steps& steps, bool rounds) {
  if (std::isnan(expected)) return std::isnan(mine) ? 0 : kInfinite;
  if (std::isnan(mine)) return kInfinite;
  if (mine == expected) return 0;
  // Beyond the range of the type it becomes infinite, or the largest number, as the processor is set.
  // What is infinite before it is rounded was given so, or divided by zero: that stays infinite.
  const bool may_overflow =
      rounds && steps.is_real && std::isfinite(expected) && std::abs(expected) + bound > steps.largest;
  if (may_overflow && std::signbit(mine) == std::signbit(expected) && std::abs(mine) >= steps.largest)
    return 0;
  if (!std::isfinite(mine) || !std::isfinite(expected)) return kInfinite;
  const double apart = std::abs(mine - expected);
  return bound > 0 ? apart / bound : kInfinite;
}

}  // namespace

Result<Bounded> gather_bounded(const Operand& mine, const Expected& expected, int64_t first, int64_t count,
                               BoundedScratch& scratch) {
  const DType dtype = type_of_steps(mine.meta.dtype, expected.dtype);
  const Steps steps(dtype);
  const bool rounds = expected.value->meta.dtype != dtype;
  const bool by_bits =
      expected.allowed == nullptr && !rounds && mine.meta.dtype == expected.dtype && !is_exact_in_f64(dtype);
  std::vector<double> wide_mine, wide_value, wide_allowed;
  Bounded out;
  out.dtype = expected.dtype;
  const int64_t at_once = elements_at_once(expected);
  for (int64_t at = first; at < first + count; at += at_once) {
    const int64_t n = std::min(at_once, first + count - at);
    ASSAY_TRY(const Block of_mine, mine.block(at, n, scratch.mine));
    Block value, allowed;
    if (expected.together != nullptr) {
      ASSAY_TRY(const BoundedBlocks::Both both, expected.together->read(at, n, scratch.value));
      value = both.value;
      allowed = both.allowed;
    } else {
      ASSAY_TRY(value, expected.value->block(at, n, scratch.value));
      if (expected.allowed != nullptr) {
        ASSAY_TRY(allowed, expected.allowed->block(at, n, scratch.allowed));
      }
    }
    const std::byte* known = nullptr;
    if (expected.known != nullptr) {
      ASSAY_TRY(const Block block, expected.known->block(at, n, scratch.known));
      known = block.data;
    }
    if (expected.allowed != nullptr) widen(allowed, wide_allowed);
    widen(of_mine, wide_mine);
    widen(value, wide_value);
    out.count += n;
    for (int64_t i = 0; i < n; ++i) {
      const auto k = static_cast<size_t>(i);
      if (known != nullptr && known[i] == std::byte{0}) {
        ++out.unknown;
        continue;
      }
      double bound = expected.allowed == nullptr ? 0 : wide_allowed[k];
      if (std::isnan(bound)) bound = 0;  // beside NaN and infinities there is nothing to allow
      if (rounds) bound += steps.half(std::abs(wide_value[k]) + bound);
      double error = error_in_units(wide_mine[k], wide_value[k], bound, steps, rounds);
      if (by_bits && std::memcmp(of_mine.data + 8 * i, value.data + 8 * i, 8) != 0) error = kInfinite;
      out.beyond += error > kSlack;
      if (out.worst_at >= 0 && !(error > out.worst)) continue;
      out.worst = error;
      out.worst_at = at + i;
      out.mine = wide_mine[k];
      out.expected = wide_value[k];
      out.bound = bound;
    }
  }
  return out;
}

const Metric bound_metric{"bound",
                          {"bound_max", "bound_beyond", "bound_unknown"},
                          0,
                          false,
                          "against what an operator should have given: the largest error in units of what "
                          "rounding explains, how many elements are beyond, and of how many nobody can tell",
                          [](const Gathered& g, std::span<Value> out) {
                            if (g.bounded == nullptr) return;
                            out[0] = g.bounded->worst;
                            out[1] = g.bounded->beyond;
                            out[2] = g.bounded->unknown;
                          }};

}  // namespace assay

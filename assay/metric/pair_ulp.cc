// How many steps of the coarser type two elements are apart: the part of PairGatherer that asks for it.
#include "assay/metric/pair_buffers.h"
#include "assay/metric/rank.h"

#include <algorithm>
#include <bit>
#include <cmath>

namespace assay {

template <class Bits>
void PairGatherer::count_ulps(const Bits* a, const Bits* b, int64_t n) {
  for (int64_t i = 0; i < n; ++i) buffers_->sizes[i] = static_cast<float>(tile::ulp_distance_one(a[i], b[i]));
  out_.ulps->add(buffers_->sizes, n);
}
template void PairGatherer::count_ulps(const uint16_t* a, const uint16_t* b, int64_t n);

template <class Bits>
void PairGatherer::ulp_of_patterns(const Bits* a, const Bits* b, int64_t n) {
  if (needs_ & gather::ulp) add_ulp(tile::ulp_distance(a, b, n));
  if (out_.ulps) count_ulps(a, b, n);
}

void PairGatherer::add_ulp(const tile::Ulp& ulp) {
  out_.ulp.max = std::max(out_.ulp.max, ulp.max);
  out_.ulp.sum += ulp.sum;
}

// a, b: the values; mine, golden: the bytes as they came, or null where elements were set aside.
void PairGatherer::ulp_of_reals(const std::byte* mine, const std::byte* golden, int64_t n, const float* a,
                                const float* b) {
  PairBuffers& t = *buffers_;
  if (ulp_dtype_ == DType::f32)
    return ulp_of_patterns(reinterpret_cast<const uint32_t*>(a), reinterpret_cast<const uint32_t*>(b), n);
  if (!is_sign_magnitude16(ulp_dtype_)) {
    std::copy(a, a + n, t.wide_a);
    std::copy(b, b + n, t.wide_b);
    return ulp_by_rank(t.wide_a, t.wide_b, n);
  }
  const auto patterns = [&](DType dtype, const std::byte* raw, const float* values,
                            uint32_t* buffer) -> const uint16_t* {
    if (raw != nullptr && dtype == ulp_dtype_ && is_aligned(raw, alignof(uint16_t)))
      return reinterpret_cast<const uint16_t*>(raw);
    auto* narrow = reinterpret_cast<uint16_t*>(buffer);
    ulp_dtype_ == DType::f16 ? tile::narrow_to_f16(values, n, narrow)
                             : tile::narrow_to_bf16(values, n, narrow);
    return narrow;
  };
  ulp_of_patterns(patterns(mine_, mine, a, t.pattern_a), patterns(golden_, golden, b, t.pattern_b), n);
}

void PairGatherer::ulp_of_doubles(const double* a, const double* b, int64_t n) {
  PairBuffers& t = *buffers_;
  if (ulp_dtype_ == DType::f64)
    return ulp_of_patterns(reinterpret_cast<const uint64_t*>(a), reinterpret_cast<const uint64_t*>(b), n);
  if (ulp_dtype_ == DType::f32) {
    for (int64_t i = 0; i < n; ++i) {
      t.pattern_a[i] = std::bit_cast<uint32_t>(static_cast<float>(a[i]));
      t.pattern_b[i] = std::bit_cast<uint32_t>(static_cast<float>(b[i]));
    }
    return ulp_of_patterns(t.pattern_a, t.pattern_b, n);
  }
  if (!is_sign_magnitude16(ulp_dtype_)) return ulp_by_rank(a, b, n);
  from_f64(ulp_dtype_, a, n, t.raw_a);
  from_f64(ulp_dtype_, b, n, t.raw_b);
  ulp_of_patterns(reinterpret_cast<const uint16_t*>(t.raw_a), reinterpret_cast<const uint16_t*>(t.raw_b), n);
}

// Types of at most 8 bits: a table says at which place among its values each pattern stands.
void PairGatherer::ulp_by_rank(const double* a, const double* b, int64_t n) {
  PairBuffers& t = *buffers_;
  const RankTable& rank = rank_table(ulp_dtype_);
  from_f64(ulp_dtype_, a, n, t.raw_a);
  from_f64(ulp_dtype_, b, n, t.raw_b);
  for (int64_t i = 0; i < n; ++i)
    t.d[i] = std::abs(rank[static_cast<size_t>(t.raw_a[i])] - rank[static_cast<size_t>(t.raw_b[i])]);
  ulp_of_integers(t.d, n);
}

void PairGatherer::ulp_of_integers(const double* d, int64_t n) {
  tile::Ulp ulp;
  for (int64_t i = 0; i < n; ++i) {
    // 2^64 - 1 is the largest difference of two 64-bit integers; as a double it may read 2^64.
    const uint64_t distance =
        d[i] >= 0x1p64 ? std::numeric_limits<uint64_t>::max() : static_cast<uint64_t>(d[i]);
    ulp.max = std::max(ulp.max, distance);
    ulp.sum += d[i];
    buffers_->sizes[i] = static_cast<float>(d[i]);
  }
  if (out_.ulps) out_.ulps->add(buffers_->sizes, n);
  add_ulp(ulp);
}

}  // namespace assay

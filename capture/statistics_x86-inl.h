// The kernels that matter most, for AVX2 (8 lanes of f32) or AVX-512 (16). Included inside the namespace of
// that kind of CPU, behind statistics_kernels-inl.h, whose functions do the rest of a block, and the blocks
// in which something is not finite.

#ifdef ASSAY_AVX512
constexpr int64_t kLanes = 16;
using Floats = __m512;
using Doubles = __m512d;
using Counts = __m512i;
#define ASSAY_V(name) _mm512_##name
inline Floats load_lanes_f32(const std::byte* at) { return _mm512_loadu_ps(at); }
inline Doubles low_half(Floats x) { return _mm512_cvtps_pd(_mm512_castps512_ps256(x)); }
inline Doubles high_half(Floats x) { return _mm512_cvtps_pd(_mm512_extractf32x8_ps(x, 1)); }
inline Counts add_zeros(Counts so_far, Floats x) {
  const __mmask16 found = _mm512_cmp_ps_mask(x, _mm512_setzero_ps(), _CMP_EQ_OQ);
  return _mm512_mask_add_epi32(so_far, found, so_far, _mm512_set1_epi32(1));
}
inline Counts add_odd(Counts so_far, Floats x) {
  const __mmask16 found = _mm512_fpclass_ps_mask(x, 0x99);  // NaN and infinities
  return _mm512_mask_add_epi32(so_far, found, so_far, _mm512_set1_epi32(1));
}
inline Counts load_halves(const std::byte* at) { return _mm512_loadu_si512(at); }
// Halves as whole numbers in the order of their values; of both zeros 0.
inline Counts as_ordered(Counts bits) {
  const Counts size = _mm512_and_si512(bits, _mm512_set1_epi16(0x7FFF));
  return _mm512_mask_sub_epi16(size, _mm512_movepi16_mask(bits), _mm512_setzero_si512(), size);
}
inline Counts as_halves(Counts ordered) {
  return _mm512_or_si512(_mm512_abs_epi16(ordered), _mm512_and_si512(ordered, _mm512_set1_epi16(-0x8000)));
}
inline Counts add_zero_halves(Counts so_far, Counts ordered) {
  return _mm512_mask_add_epi16(so_far, _mm512_testn_epi16_mask(ordered, ordered), so_far,
                               _mm512_set1_epi16(1));
}
struct WidenF16 {
  static Floats first(const std::byte* at) {
    return _mm512_cvtph_ps(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(at)));
  }
  static Floats second(const std::byte* at) { return first(at + 32); }
};
struct WidenBf16 {  // every second one: their order is that of no sum
  static Floats first(const std::byte* at) {
    return _mm512_castsi512_ps(_mm512_slli_epi32(load_halves(at), 16));
  }
  static Floats second(const std::byte* at) {
    return _mm512_castsi512_ps(_mm512_and_si512(load_halves(at), _mm512_set1_epi32(-0x10000)));
  }
};
#else
constexpr int64_t kLanes = 8;
using Floats = __m256;
using Doubles = __m256d;
using Counts = __m256i;
#define ASSAY_V(name) _mm256_##name
inline Floats load_lanes_f32(const std::byte* at) {
  return _mm256_loadu_ps(reinterpret_cast<const float*>(at));
}
inline Doubles low_half(Floats x) { return _mm256_cvtps_pd(_mm256_castps256_ps128(x)); }
inline Doubles high_half(Floats x) { return _mm256_cvtps_pd(_mm256_extractf128_ps(x, 1)); }
inline Counts add_zeros(Counts so_far, Floats x) {
  return _mm256_sub_epi32(so_far, _mm256_castps_si256(_mm256_cmp_ps(x, _mm256_setzero_ps(), _CMP_EQ_OQ)));
}
inline Counts add_odd(Counts so_far, Floats x) {
  const __m256 size = _mm256_andnot_ps(_mm256_set1_ps(-0.0f), x);
  return _mm256_sub_epi32(
      so_far, _mm256_castps_si256(_mm256_cmp_ps(size, _mm256_set1_ps(__builtin_inff()), _CMP_NLT_UQ)));
}
inline Counts load_halves(const std::byte* at) {
  return _mm256_loadu_si256(reinterpret_cast<const __m256i*>(at));
}
// Halves as whole numbers in the order of their values; of both zeros 0.
inline Counts as_ordered(Counts bits) {
  return _mm256_sign_epi16(_mm256_and_si256(bits, _mm256_set1_epi16(0x7FFF)), bits);
}
inline Counts as_halves(Counts ordered) {
  return _mm256_or_si256(_mm256_abs_epi16(ordered), _mm256_and_si256(ordered, _mm256_set1_epi16(-0x8000)));
}
inline Counts add_zero_halves(Counts so_far, Counts ordered) {
  return _mm256_sub_epi16(so_far, _mm256_cmpeq_epi16(ordered, _mm256_setzero_si256()));
}
struct WidenF16 {
  static Floats first(const std::byte* at) {
    return _mm256_cvtph_ps(_mm_loadu_si128(reinterpret_cast<const __m128i*>(at)));
  }
  static Floats second(const std::byte* at) { return first(at + 16); }
};
struct WidenBf16 {  // every second one: their order is that of no sum
  static Floats first(const std::byte* at) {
    return _mm256_castsi256_ps(_mm256_slli_epi32(load_halves(at), 16));
  }
  static Floats second(const std::byte* at) {
    return _mm256_castsi256_ps(_mm256_and_si256(load_halves(at), _mm256_set1_epi32(-0x10000)));
  }
};
#endif

// Two vectors at a time have sums of their own, so that an addition need not wait for the one before; no more
// of them than stay in the sixteen registers of AVX2 beside the rest of the loop.
struct Sums {
  Sums() {
    for (int v = 0; v < 2; ++v) sum[v] = squares[2 * v] = squares[2 * v + 1] = ASSAY_V(setzero_pd)();
  }
  __attribute__((always_inline)) void add(int v, Floats x) {
    const Doubles low = low_half(x), high = high_half(x);
    sum[v] = ASSAY_V(add_pd)(ASSAY_V(add_pd)(low, high), sum[v]);
    squares[2 * v] = ASSAY_V(fmadd_pd)(low, low, squares[2 * v]);  // the product of two f32 is exact in f64
    squares[2 * v + 1] = ASSAY_V(fmadd_pd)(high, high, squares[2 * v + 1]);
  }
  void add_to(RealTotals& out) const {
    double sums[kLanes / 2], square_sums[kLanes / 2];
    const Doubles all = ASSAY_V(add_pd)(sum[0], sum[1]);
    const Doubles all_squares =
        ASSAY_V(add_pd)(ASSAY_V(add_pd)(squares[0], squares[1]), ASSAY_V(add_pd)(squares[2], squares[3]));
    __builtin_memcpy(sums, &all, sizeof sums);
    __builtin_memcpy(square_sums, &all_squares, sizeof square_sums);
    for (int64_t k = 0; k < kLanes / 2; ++k) {
      out.sum += sums[k];
      out.squares += square_sums[k];
    }
  }
  Doubles sum[2], squares[4];
};

inline void widen_extremes(RealTotals& out, Floats high, Floats low) {
  float largest[kLanes], smallest[kLanes];
  __builtin_memcpy(largest, &high, sizeof largest);
  __builtin_memcpy(smallest, &low, sizeof smallest);
  for (int64_t k = 0; k < kLanes; ++k)
    widen_extremes(out, static_cast<double>(largest[k]), static_cast<double>(smallest[k]));
}

// A block in which something is not finite is taken by the plain kernel, which tells what; it also takes what
// is left of one behind `whole` vectors.
template <int Size, void (*Rest)(const std::byte*, int64_t, RealTotals&)>
void take_rest(const std::byte* from, int64_t whole, int64_t count, RealTotals& out) {
  if (whole < count) Rest(from + whole * Size, count - whole, out);
}

inline void add_f32_lanes(const std::byte* from, int64_t count, RealTotals& out) {
  const int64_t whole = count / (2 * kLanes) * (2 * kLanes);
  Floats max = ASSAY_V(set1_ps)(static_cast<float>(out.max)),
         min = ASSAY_V(set1_ps)(static_cast<float>(out.min));
  Sums sums;
  Counts zeros{}, odd{};
  for (int64_t i = 0; i < whole; i += 2 * kLanes)
    for (int v = 0; v < 2; ++v) {
      const Floats x = load_lanes_f32(from + (i + v * kLanes) * 4);
      max = ASSAY_V(max_ps)(x, max);  // the second one where x is a NaN
      min = ASSAY_V(min_ps)(x, min);
      sums.add(v, x);
      zeros = add_zeros(zeros, x);
      odd = add_odd(odd, x);
    }
  int32_t zero_counts[kLanes], odd_counts[kLanes];
  __builtin_memcpy(zero_counts, &zeros, sizeof zero_counts);
  __builtin_memcpy(odd_counts, &odd, sizeof odd_counts);
  int64_t zero_count = 0, odd_count = 0;
  for (int64_t k = 0; k < kLanes; ++k) zero_count += zero_counts[k], odd_count += odd_counts[k];
  if (odd_count > 0) return add_f32(from, count, out);
  sums.add_to(out);
  widen_extremes(out, max, min);
  out.zeros += zero_count;
  take_rest<4, add_f32>(from, whole, count, out);
}

// Of halves, zeros, the largest and the smallest, and with them whether all are finite, are told by the bits
// of a whole register of them, before they are widened. `count`: of one block, for counters of 16 bits.
template <class Widen, int Exponent, void (*Rest)(const std::byte*, int64_t, RealTotals&)>
void add_halves(const std::byte* from, int64_t count, RealTotals& out) {
  constexpr int64_t kHalves = 2 * kLanes;
  const int64_t whole = count / kHalves * kHalves;
  if (whole == 0) return Rest(from, count, out);
  Sums sums;
  Counts max = ASSAY_V(set1_epi16)(-0x7FFF), min = ASSAY_V(set1_epi16)(0x7FFF), zeros{};
  for (int64_t i = 0; i < whole; i += kHalves) {
    const std::byte* const at = from + i * 2;
    const Counts ordered = as_ordered(load_halves(at));
    max = ASSAY_V(max_epi16)(max, ordered);
    min = ASSAY_V(min_epi16)(min, ordered);
    zeros = add_zero_halves(zeros, ordered);
    sums.add(0, Widen::first(at));
    sums.add(1, Widen::second(at));
  }
  int16_t largest[kHalves], smallest[kHalves];
  uint16_t zero_counts[kHalves];
  __builtin_memcpy(largest, &max, sizeof largest);
  __builtin_memcpy(smallest, &min, sizeof smallest);
  __builtin_memcpy(zero_counts, &zeros, sizeof zero_counts);
  int64_t zero_count = 0;
  bool is_odd = false;
  for (int64_t k = 0; k < kHalves; ++k) {
    is_odd = is_odd || largest[k] >= Exponent || smallest[k] <= -Exponent;
    zero_count += zero_counts[k];
  }
  if (is_odd) return Rest(from, count, out);
  sums.add_to(out);
  out.zeros += zero_count;
  std::byte high[sizeof(Counts)], low[sizeof(Counts)];
  max = as_halves(max), min = as_halves(min);
  __builtin_memcpy(high, &max, sizeof high);
  __builtin_memcpy(low, &min, sizeof low);
  widen_extremes(out, Widen::first(high), Widen::first(low));
  widen_extremes(out, Widen::second(high), Widen::second(low));
  take_rest<2, Rest>(from, whole, count, out);
}

// 32 bytes at a time, as numbers of 16 bits: products of pairs are added up in 32 bits.
template <class T>
void add_bytes(const std::byte* from, int64_t count, IntegerTotals<T>& out) {
  const int64_t whole = count / 32 * 32;
  __m256i max = _mm256_set1_epi8(static_cast<char>(out.max)),
          min = _mm256_set1_epi8(static_cast<char>(out.min));
  __m256i sum{}, squares{}, zeros{};
  const __m256i ones = _mm256_set1_epi16(1);
  for (int64_t i = 0; i < whole; i += 32) {
    const __m256i x = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(from + i));
    const __m256i is_zero = _mm256_cmpeq_epi8(x, _mm256_setzero_si256());
    zeros = _mm256_add_epi64(
        zeros, _mm256_sad_epu8(_mm256_sub_epi8(_mm256_setzero_si256(), is_zero), _mm256_setzero_si256()));
    __m256i low, high;
    if constexpr (static_cast<T>(-1) < 0) {
      max = _mm256_max_epi8(max, x);
      min = _mm256_min_epi8(min, x);
      low = _mm256_cvtepi8_epi16(_mm256_castsi256_si128(x));
      high = _mm256_cvtepi8_epi16(_mm256_extracti128_si256(x, 1));
    } else {
      max = _mm256_max_epu8(max, x);
      min = _mm256_min_epu8(min, x);
      low = _mm256_cvtepu8_epi16(_mm256_castsi256_si128(x));
      high = _mm256_cvtepu8_epi16(_mm256_extracti128_si256(x, 1));
    }
    sum = _mm256_add_epi32(sum, _mm256_madd_epi16(_mm256_add_epi16(low, high), ones));
    squares = _mm256_add_epi32(squares,
                               _mm256_add_epi32(_mm256_madd_epi16(low, low), _mm256_madd_epi16(high, high)));
  }
  T largest[32], smallest[32];
  int32_t sums[8], square_sums[8];
  int64_t zero_counts[4];
  __builtin_memcpy(largest, &max, sizeof largest);
  __builtin_memcpy(smallest, &min, sizeof smallest);
  __builtin_memcpy(sums, &sum, sizeof sums);
  __builtin_memcpy(square_sums, &squares, sizeof square_sums);
  __builtin_memcpy(zero_counts, &zeros, sizeof zero_counts);
  for (int k = 0; k < 32; ++k) widen_extremes(out, largest[k], smallest[k]);
  for (int k = 0; k < 8; ++k) {
    out.sum += sums[k];
    out.squares += square_sums[k];
  }
  for (const int64_t zero_count : zero_counts) out.zeros += zero_count;
  if (whole < count) add_integers<T>(from + whole, count - whole, out);
}

// The other types as above.
inline constexpr Kernels kFastKernels = [] {
  Kernels kernels = kKernels;
  kernels.f32 = add_f32_lanes;
  kernels.f16 = add_halves<WidenF16, 0x7C00, add_f16>;
  kernels.bf16 = add_halves<WidenBf16, 0x7F80, add_bf16>;
  kernels.i8 = add_bytes<int8_t>;
  kernels.u8 = add_bytes<uint8_t>;
  return kernels;
}();
#undef ASSAY_V

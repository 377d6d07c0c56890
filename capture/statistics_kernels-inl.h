// Included once for each kind of CPU, inside a namespace of its own, with the compiler told which
// instructions there are. Nothing here may call an inline function from elsewhere: the linker keeps one copy
// of those, for whichever CPU.

typedef float F8 __attribute__((vector_size(32)));
typedef int32_t I8 __attribute__((vector_size(32)));
typedef double D4 __attribute__((vector_size(32)));
typedef int64_t L4 __attribute__((vector_size(32)));
typedef float F4 __attribute__((vector_size(16)));

inline F8 load_f32(const std::byte* from) {
  F8 x;
  __builtin_memcpy(&x, from, sizeof x);
  return x;
}

inline F8 load_bf16(const std::byte* from) {
  typedef uint16_t U16x8 __attribute__((vector_size(16)));
  typedef uint32_t U32x8 __attribute__((vector_size(32)));
  U16x8 x;
  __builtin_memcpy(&x, from, sizeof x);
  const U32x8 wide = __builtin_convertvector(x, U32x8) << 16;
  F8 out;
  __builtin_memcpy(&out, &wide, sizeof out);
  return out;
}

inline F8 load_f16(const std::byte* from) {
#ifdef ASSAY_HAS_F16C
  __m128i x;
  __builtin_memcpy(&x, from, sizeof x);
  return reinterpret_cast<F8>(_mm256_cvtph_ps(x));
#else
  // Exponents are moved; those of subnormal numbers, and of infinities and NaN, again. No step sees a
  // subnormal f32, which the host may have told the CPU to take for zero.
  typedef uint16_t U16x8 __attribute__((vector_size(16)));
  typedef uint32_t U32x8 __attribute__((vector_size(32)));
  U16x8 x;
  __builtin_memcpy(&x, from, sizeof x);
  const U32x8 bits = __builtin_convertvector(x, U32x8);
  const U32x8 exponent = bits & 0x7C00u;
  U32x8 wide = ((bits & 0x7FFFu) << 13) + (112u << 23);
  wide = exponent == 0x7C00u ? wide + (112u << 23) : wide;
  F8 normal, subnormal;
  const U32x8 raised = (bits & 0x3FFu) << 13 | (113u << 23);
  __builtin_memcpy(&subnormal, &raised, sizeof subnormal);
  subnormal -= 0x1p-14f;
  __builtin_memcpy(&normal, &wide, sizeof normal);
  U32x8 plain, tiny;
  __builtin_memcpy(&plain, &normal, sizeof plain);
  __builtin_memcpy(&tiny, &subnormal, sizeof tiny);
  const U32x8 both = (exponent == 0 ? tiny : plain) | ((bits & 0x8000u) << 16);
  F8 out;
  __builtin_memcpy(&out, &both, sizeof out);
  return out;
#endif
}

// What lanes, or single elements, found goes to the totals by these.
template <class Totals, class T>
inline void widen_extremes(Totals& out, T high, T low) {
  out.max = out.max < high ? high : out.max;
  out.min = low < out.min ? low : out.min;
}
inline void add_element(RealTotals& out, double x) {
  widen_extremes(out, x, x);
  out.nans += x != x;
  out.infs += x - x != 0 && x == x;
  out.zeros += x == 0;
  out.sum += x;
  out.squares += x * x;
}

// Sums of the lower and of the upper half of each group of eight, so that element i always meets the same
// lane.
template <F8 (*Load)(const std::byte*), int Size>
void add_floats(const std::byte* from, int64_t count, RealTotals& out) {
  constexpr float kInfinity = __builtin_inff();
  F8 max = {}, min = {};
  max += static_cast<float>(out.max);
  min += static_cast<float>(out.min);
  D4 sum_low = {}, sum_high = {}, squares_low = {}, squares_high = {};
  I8 nans = {}, infs = {}, zeros = {};
  const auto add = [&](F8 x) __attribute__((always_inline)) {
    max = max < x ? x : max;
    min = x < min ? x : min;
    const D4 low = __builtin_convertvector(__builtin_shufflevector(x, x, 0, 1, 2, 3), D4);
    const D4 high = __builtin_convertvector(__builtin_shufflevector(x, x, 4, 5, 6, 7), D4);
    sum_low += low;
    sum_high += high;
    squares_low += low * low;
    squares_high += high * high;
    nans -= x != x;
    infs -= (x == kInfinity) | (x == -kInfinity);
    zeros -= x == 0.0f;
  };
  int64_t i = 0;
  for (; i + 8 <= count; i += 8) add(Load(from + i * Size));
  for (size_t k = 0; k < 8; ++k) {
    widen_extremes(out, static_cast<double>(max[k]), static_cast<double>(min[k]));
    out.nans += nans[k];
    out.infs += infs[k];
    out.zeros += zeros[k];
  }
  for (size_t k = 0; k < 4; ++k) {
    out.sum += sum_low[k] + sum_high[k];
    out.squares += squares_low[k] + squares_high[k];
  }
  if (i == count) return;
  std::byte rest[32] = {};
  __builtin_memcpy(rest, from + i * Size, static_cast<size_t>((count - i) * Size));
  const F8 last = Load(rest);
  for (size_t k = 0; k < static_cast<size_t>(count - i); ++k) add_element(out, static_cast<double>(last[k]));
}

inline void add_doubles(const std::byte* from, int64_t count, RealTotals& out) {
  constexpr double kInfinity = __builtin_inf();
  D4 max = {}, min = {};
  max += out.max;
  min += out.min;
  D4 sum = {}, squares = {};
  L4 nans = {}, infs = {}, zeros = {};
  int64_t i = 0;
  for (; i + 4 <= count; i += 4) {
    D4 x;
    __builtin_memcpy(&x, from + i * 8, sizeof x);
    max = max < x ? x : max;
    min = x < min ? x : min;
    sum += x;
    squares += x * x;
    nans -= x != x;
    infs -= (x == kInfinity) | (x == -kInfinity);
    zeros -= x == 0.0;
  }
  for (size_t k = 0; k < 4; ++k) {
    widen_extremes(out, double{max[k]}, double{min[k]});
    out.nans += nans[k];
    out.infs += infs[k];
    out.zeros += zeros[k];
    out.sum += sum[k];
    out.squares += squares[k];
  }
  for (; i < count; ++i) {
    double x;
    __builtin_memcpy(&x, from + i * 8, sizeof x);
    add_element(out, x);
  }
}

// Exact sums of a block as integers, where a block of them fits; the others in eight lanes of f64.
template <class T>
void add_integers(const std::byte* bytes, int64_t count, IntegerTotals<T>& out) {
  T max = out.max, min = out.min;
  int32_t zeros = 0;
  const auto at = [bytes](int64_t i) __attribute__((always_inline)) {
    T x;
    __builtin_memcpy(&x, bytes + i * static_cast<int64_t>(sizeof x), sizeof x);
    return x;
  };
  if constexpr (sizeof(T) == 1) {
    int32_t sum = 0, squares = 0;
    for (int64_t i = 0; i < count; ++i) {
      const T x = at(i);
      const int32_t wide = x;
      max = max < x ? x : max;
      min = x < min ? x : min;
      zeros += x == 0;
      sum += wide;
      squares += wide * wide;
    }
    out.sum += sum;
    out.squares += squares;
  } else {
    constexpr int64_t kLanes = 8;
    double sum[kLanes] = {}, squares[kLanes] = {};
    const int64_t whole = count / kLanes * kLanes;
    for (int64_t i = 0; i < whole; i += kLanes)
      for (int64_t k = 0; k < kLanes; ++k) {
        const T x = at(i + k);
        const double wide = static_cast<double>(x);
        sum[k] += wide;
        squares[k] += wide * wide;
      }
    for (int64_t i = whole; i < count; ++i) {
      const double wide = static_cast<double>(at(i));
      sum[i - whole] += wide;
      squares[i - whole] += wide * wide;
    }
    for (int64_t i = 0; i < count;
         ++i) {  // by itself: the compiler makes vectors of either loop, not of both in one
      const T x = at(i);
      max = max < x ? x : max;
      min = x < min ? x : min;
      zeros += x == 0;
    }
    for (int64_t k = 0; k < kLanes; ++k) {
      out.sum += sum[k];
      out.squares += squares[k];
    }
  }
  out.max = max;
  out.min = min;
  out.zeros += zeros;
}

inline uint64_t xor_words(const std::byte* bytes, int64_t words) {
  uint64_t lanes[8] = {};
  int64_t i = 0;
  for (; i + 8 <= words; i += 8)
    for (int64_t k = 0; k < 8; ++k) {
      uint64_t word;
      __builtin_memcpy(&word, bytes + (i + k) * 8, sizeof word);
      lanes[k] ^= word;
    }
  for (; i < words; ++i) {
    uint64_t word;
    __builtin_memcpy(&word, bytes + i * 8, sizeof word);
    lanes[0] ^= word;
  }
  uint64_t out = 0;
  for (const uint64_t lane : lanes) out ^= lane;
  return out;
}

inline void add_f32(const std::byte* from, int64_t n, RealTotals& out) {
  add_floats<load_f32, 4>(from, n, out);
}
inline void add_f16(const std::byte* from, int64_t n, RealTotals& out) {
  add_floats<load_f16, 2>(from, n, out);
}
inline void add_bf16(const std::byte* from, int64_t n, RealTotals& out) {
  add_floats<load_bf16, 2>(from, n, out);
}

inline constexpr Kernels kKernels = {add_f32,
                                     add_f16,
                                     add_bf16,
                                     add_doubles,
                                     add_integers<int8_t>,
                                     add_integers<uint8_t>,
                                     add_integers<int16_t>,
                                     add_integers<uint16_t>,
                                     add_integers<int32_t>,
                                     add_integers<uint32_t>,
                                     add_integers<int64_t>,
                                     add_integers<uint64_t>,
                                     xor_words};

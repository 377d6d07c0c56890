#include "capture/statistics.h"

#include "assay/base/crc32.h"
#include "assay/tensor/dense.h"
#include "assay/tensor/dtype_small.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <limits>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace assay::capture {
namespace {

// So far, of one tensor. What a block adds is summed up by itself first: the rounding of large tensors stays
// small.
struct RealTotals {
  double max, min;
  double sum = 0, squares = 0;
  int64_t nans = 0, infs = 0, zeros = 0;
};
template <class T>
struct IntegerTotals {
  T max = std::numeric_limits<T>::lowest(), min = std::numeric_limits<T>::max();
  double sum = 0, squares = 0;
  int64_t zeros = 0;
};

template <class Totals>
using Add = void (*)(const std::byte*, int64_t, Totals&);
struct Kernels {
  Add<RealTotals> f32, f16, bf16, f64;
  Add<IntegerTotals<int8_t>> i8;
  Add<IntegerTotals<uint8_t>> u8;
  Add<IntegerTotals<int16_t>> i16;
  Add<IntegerTotals<uint16_t>> u16;
  Add<IntegerTotals<int32_t>> i32;
  Add<IntegerTotals<uint32_t>> u32;
  Add<IntegerTotals<int64_t>> i64;
  Add<IntegerTotals<uint64_t>> u64;
  uint64_t (*xor_words)(const std::byte*, int64_t);
};

namespace plain {
#include "capture/statistics_kernels-inl.h"
}  // namespace plain

#if defined(__x86_64__) && !defined(__clang__)
#define ASSAY_HAS_F16C
#pragma GCC push_options
#pragma GCC target("avx2,fma,f16c")
namespace avx2 {
#include "capture/statistics_kernels-inl.h"
#include "capture/statistics_x86-inl.h"
}  // namespace avx2
#pragma GCC pop_options
#define ASSAY_AVX512
#pragma GCC push_options
#pragma GCC target("avx2,fma,f16c,popcnt,avx512f,avx512vl,avx512dq,avx512bw,prefer-vector-width=512")
namespace avx512 {
#include "capture/statistics_kernels-inl.h"
#include "capture/statistics_x86-inl.h"
}  // namespace avx512
#pragma GCC pop_options
#undef ASSAY_AVX512
#undef ASSAY_HAS_F16C
#endif

const Kernels* best_kernels([[maybe_unused]] Instructions most) {
#if defined(__x86_64__) && !defined(__clang__)
  const bool has_avx2 = most >= Instructions::avx2 && __builtin_cpu_supports("avx2") &&
                        __builtin_cpu_supports("fma") && __builtin_cpu_supports("f16c");
  const bool has_avx512 = has_avx2 && most >= Instructions::avx512 && __builtin_cpu_supports("avx512f") &&
                          __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512dq") &&
                          __builtin_cpu_supports("avx512bw");
  if (has_avx2) return has_avx512 ? &avx512::kFastKernels : &avx2::kFastKernels;
#endif
  return &plain::kKernels;
}

std::atomic<const Kernels*>& chosen_kernels() {
  static std::atomic<const Kernels*> chosen = best_kernels(Instructions::avx512);
  return chosen;
}
const Kernels& kernels() { return *chosen_kernels().load(std::memory_order_relaxed); }

constexpr int64_t kBlockBytes = int64_t{16}
                                << 10;  // a multiple of every element and of 8; sums of bytes fit in 32 bits

// The first of several zeros gives the sign: +0 and -0 print differently.
double first_zero(DType dtype, Bytes bytes, int64_t count) {
  const auto size = static_cast<size_t>(size_of(dtype));
  for (size_t i = 0; i < static_cast<size_t>(count); ++i) {
    uint64_t bits = 0;
    std::memcpy(&bits, bytes.data() + i * size, size);
    const uint64_t sign = uint64_t{1} << (8 * size - 1);
    if ((bits & ~sign) == 0) return bits == 0 ? 0.0 : -0.0;
  }
  return 0;
}

// The blocks of the tensor, one after another, each with its checksums while it is near.
template <class Use>
void each_block(Bytes bytes, const Wanted& wanted, Statistics& out, Use use) {
  for (size_t first = 0; first < bytes.size(); first += kBlockBytes) {
    const Bytes block = bytes.subspan(first, std::min<size_t>(kBlockBytes, bytes.size() - first));
    if (wanted.values) use(block, static_cast<int64_t>(first));
    if (wanted.crc32) out.crc32 = crc32_of(out.crc32, block);
    if (wanted.xor64) {
      const auto words = static_cast<int64_t>(block.size() / 8);
      out.xor64 ^= kernels().xor_words(block.data(), words);
      uint64_t rest = 0;
      std::memcpy(&rest, block.data() + words * 8, block.size() % 8);
      out.xor64 ^= rest;
    }
  }
}

void take(const RealTotals& totals, Statistics& out) {
  out.max.real = totals.max;
  out.min.real = totals.min;
  out.sum = totals.sum;
  out.sum_squares = totals.squares;
  out.nans = totals.nans;
  out.infs = totals.infs;
  out.zeros = totals.zeros;
}

void measure_reals(Add<RealTotals> add, double lowest, Bytes bytes, const Wanted& wanted, Statistics& out) {
  const int64_t size = size_of(out.dtype);
  RealTotals totals{lowest, -lowest};
  each_block(bytes, wanted, out, [&](Bytes block, int64_t) {
    add(block.data(), static_cast<int64_t>(block.size()) / size, totals);
  });
  if (!wanted.values) return;
  take(totals, out);
  if (out.max.real == 0) out.max.real = first_zero(out.dtype, bytes, out.count);
  if (out.min.real == 0) out.min.real = first_zero(out.dtype, bytes, out.count);
}

template <class T>
void measure_integers(Add<IntegerTotals<T>> add, Bytes bytes, const Wanted& wanted, Statistics& out) {
  IntegerTotals<T> totals;
  each_block(bytes, wanted, out, [&](Bytes block, int64_t) {
    add(block.data(), static_cast<int64_t>(block.size() / sizeof(T)), totals);
  });
  out.max.integer = static_cast<int64_t>(totals.max);
  out.min.integer = static_cast<int64_t>(totals.min);
  out.max.natural = static_cast<uint64_t>(totals.max);
  out.min.natural = static_cast<uint64_t>(totals.min);
  out.sum = totals.sum;
  out.sum_squares = totals.squares;
  out.zeros = totals.zeros;
}

// One byte or less: by the table of its values; four and fewer bits are unpacked first.
void measure_small(Bytes bytes, const Wanted& wanted, Statistics& out) {
  const auto& values = values_of(out.dtype);
  constexpr double kLowest = std::numeric_limits<float>::lowest();
  RealTotals totals{kLowest, -kLowest};
  const int bits = info(out.dtype).storage_bits;
  float wide[1024];
  std::byte unpacked[1024];
  each_block(bytes, wanted, out, [&](Bytes, int64_t) {});
  for (int64_t first = 0; wanted.values && first < out.count; first += 1024) {
    const int64_t n = std::min<int64_t>(1024, out.count - first);
    const std::byte* from = bytes.data() + first * bits / 8;
    if (bits < 8) {
      unpack(out.dtype, from, n, unpacked);
      from = unpacked;
    }
    for (int64_t i = 0; i < n; ++i) wide[i] = values[static_cast<uint8_t>(from[i])];
    kernels().f32(reinterpret_cast<const std::byte*>(wide), n, totals);
  }
  if (wanted.values) take(totals, out);
  const bool is_whole = !is_real(out.dtype);
  for (Statistics::Extreme* extreme : {&out.max, &out.min})
    if (is_whole && out.count > 0) {
      extreme->integer = static_cast<int64_t>(extreme->real);
      extreme->natural = static_cast<uint64_t>(extreme->integer);
    }
}

template <class T>
void measure_complex(Bytes bytes, const Wanted& wanted, Statistics& out) {
  const auto part = [&](int64_t i) {
    const Bytes at = bytes.subspan(static_cast<size_t>(i) * sizeof(T));
    if constexpr (sizeof(T) != 2) return static_cast<double>(load_le<T>(at));
    RealTotals one{};
    if constexpr (sizeof(T) == 2) kernels().f16(at.data(), 1, one);
    return one.sum;
  };
  each_block(bytes, wanted, out, [&](Bytes, int64_t) {});
  if (!wanted.values) return;
  double largest = -1, smallest = std::numeric_limits<double>::infinity();
  for (int64_t i = 0; i < out.count; ++i) {
    const double re = part(2 * i), im = part(2 * i + 1), square = re * re + im * im;
    out.nans += std::isnan(re) || std::isnan(im);
    out.infs += std::isinf(re) || std::isinf(im);
    out.zeros += re == 0 && im == 0;
    out.sum += re;
    out.sum_imaginary += im;
    out.sum_squares += square;
    if (largest < square) largest = square, out.max = {re, im, 0, 0};
    if (square < smallest) smallest = square, out.min = {re, im, 0, 0};
  }
}

bool is_known_to_atb(DType dtype) {
  switch (dtype) {
    case DType::f32:
    case DType::f64:
    case DType::f16:
    case DType::bf16:
    case DType::i8:
    case DType::i16:
    case DType::i32:
    case DType::i64:
    case DType::u8:
    case DType::u16:
    case DType::u32:
    case DType::u64:
    case DType::c64:
      return true;
    default:
      return false;
  }
}

// `put`: one real number as text.
template <class Put>
AtbTexts texts(const Statistics& s, Put put) {
  const auto extreme = [&](const Statistics::Extreme& value) -> std::string {
    switch (info(s.dtype).kind) {
      case DTypeKind::integer:
        return std::to_string(value.integer);
      case DTypeKind::natural:
      case DTypeKind::truth:
        return std::to_string(value.natural);
      case DTypeKind::complex:
        return "(" + put(value.real) + "," + put(value.imaginary) + ")";
      case DTypeKind::real:
        break;
    }
    return put(value.real);
  };
  const double n = static_cast<double>(s.count);
  const std::string mean =
      is_complex(s.dtype) ? "(" + put(s.sum / n) + "," + put(s.sum_imaginary / n) + ")" : put(s.mean());
  return {extreme(s.max), extreme(s.min), mean, put(s.norm())};
}

}  // namespace

void use_at_most(Instructions most) { chosen_kernels() = best_kernels(most); }

double Statistics::mean() const { return sum / static_cast<double>(count); }
double Statistics::norm() const { return std::sqrt(sum_squares); }

Statistics measure(DType dtype, Bytes bytes, int64_t count, const Wanted& wanted) {
  Statistics out;
  out.dtype = dtype;
  out.count = count;
  const Kernels& k = kernels();
  constexpr double kLowestFloat = std::numeric_limits<float>::lowest(),
                   kLowest = std::numeric_limits<double>::lowest();
  switch (dtype) {
    case DType::f32:
      measure_reals(k.f32, kLowestFloat, bytes, wanted, out);
      break;
    case DType::f16:
      measure_reals(k.f16, kLowestFloat, bytes, wanted, out);
      break;
    case DType::bf16:
      measure_reals(k.bf16, kLowestFloat, bytes, wanted, out);
      break;
    case DType::f64:
      measure_reals(k.f64, kLowest, bytes, wanted, out);
      break;
    case DType::i8:
      measure_integers(k.i8, bytes, wanted, out);
      break;
    case DType::u8:
    case DType::boolean:
      measure_integers(k.u8, bytes, wanted, out);
      break;
    case DType::i16:
      measure_integers(k.i16, bytes, wanted, out);
      break;
    case DType::u16:
      measure_integers(k.u16, bytes, wanted, out);
      break;
    case DType::i32:
      measure_integers(k.i32, bytes, wanted, out);
      break;
    case DType::u32:
      measure_integers(k.u32, bytes, wanted, out);
      break;
    case DType::i64:
      measure_integers(k.i64, bytes, wanted, out);
      break;
    case DType::u64:
      measure_integers(k.u64, bytes, wanted, out);
      break;
    case DType::c32:
      measure_complex<uint16_t>(bytes, wanted, out);
      break;
    case DType::c64:
      measure_complex<float>(bytes, wanted, out);
      break;
    case DType::c128:
      measure_complex<double>(bytes, wanted, out);
      break;
    default:
      measure_small(bytes, wanted, out);
  }
  return out;
}

AtbTexts atb_texts(const Statistics& s) {
  if (!is_known_to_atb(s.dtype)) return {"N/A", "N/A", "N/A", "N/A"};
  return texts(s, [](double value) { return std::to_string(value); });
}

AtbTexts full_texts(const Statistics& s) {
  return texts(s, [](double value) { return fmt::format("{}", value); });
}

}  // namespace assay::capture

// The kernel of cuda_statistics.cc, compiled on the machine that has the device.
//
// A block takes a contiguous part of one tensor, sums it up and puts that down; the last block of a tensor
// adds the parts up and writes the result into memory of the host, its mark last. CRC-32 is linear: thread t
// takes every 256th word from t on, by Horner's rule with the constant x^(32*256) (four looks into a table of
// 256 words each), and the remainders of threads and of blocks are shifted to where they belong by products
// in GF(2)[x]. Bits are reflected, as zlib has them.
#include "library/cuda_statistics.h"

namespace assay::library {

const char* const kMeasureKernel = R"cuda(
typedef unsigned int u32;
typedef unsigned long long u64;
typedef long long i64;

struct Result { double max, min; i64 imax, imin; double sum, squares; u64 xor64; u32 crc, nans; };
struct One { const unsigned char* data; i64 count; Result* out; u32 first_block, blocks; unsigned short dtype, size; };
#define MOST 12
struct Args { One one[MOST]; Result* parts; u32* finished; const u32* tables; i64 part_bytes; u32 n, wants; };
enum { WANTS_VALUES = 1, WANTS_CRC = 2, WANTS_XOR = 4 };
// As assay_dtype.
enum { F64 = 0, F32 = 1, F16 = 2, BF16 = 3, I64 = 14, I32 = 15, I16 = 16, I8 = 17, U64 = 20, U32 = 21, U16 = 22, U8 = 23, BOOL = 27 };
#define THREADS 256
#define POLYNOMIAL 0xedb88320u

__device__ __forceinline__ float half_bits(u32 bits) {
  float out;
  asm("{ .reg .b16 h; cvt.u16.u32 h, %1; cvt.f32.f16 %0, h; }" : "=f"(out) : "r"(bits));
  return out;
}

struct Sums { double max, min, sum, squares; i64 imax, imin; u64 xor64; u32 crc, nans; };

__device__ __forceinline__ void clear(Sums& s) {
  s.max = -__longlong_as_double(0x7ff0000000000000ll);
  s.min = __longlong_as_double(0x7ff0000000000000ll);
  s.sum = s.squares = 0;
  s.imax = (i64)0x8000000000000000ull;
  s.imin = 0x7fffffffffffffffll;
  s.xor64 = 0;
  s.crc = s.nans = 0;
}

__device__ __forceinline__ void merge(Sums& s, double max, double min, double sum, double squares, i64 imax, i64 imin, u64 x, u32 crc, u32 nans) {
  s.max = fmax(s.max, max);
  s.min = fmin(s.min, min);
  s.sum += sum;
  s.squares += squares;
  s.imax = imax > s.imax ? imax : s.imax;
  s.imin = imin < s.imin ? imin : s.imin;
  s.xor64 ^= x;
  s.crc ^= crc;
  s.nans |= nans;
}

// Reals of at most 32 bits: `BITS` of each in the word, which way it is widened.
struct Real32 {
  float max, min;
  u32 nans;
  __device__ __forceinline__ void begin() { max = -__int_as_float(0x7f800000); min = __int_as_float(0x7f800000); nans = 0; }
  __device__ __forceinline__ void look(float v) {
    max = fmaxf(max, v);
    min = fminf(min, v);
    nans |= v != v;
  }
};

template <int DTYPE>
__device__ __forceinline__ float widen(u32 bits) {
  return DTYPE == BF16 ? __int_as_float((int)(bits << 16)) : half_bits(bits);
}

template <int DTYPE>
__device__ __forceinline__ void add_halves(const uint4& v, Real32& r, double& sum, double& squares) {
  const u32 words[4] = {v.x, v.y, v.z, v.w};
  float s = 0, q = 0;
#pragma unroll
  for (int i = 0; i < 4; ++i) {
    const float a = widen<DTYPE>(words[i] & 0xffffu), b = widen<DTYPE>(words[i] >> 16);
    r.look(a);
    r.look(b);
    s += a + b;
    q = fmaf(a, a, fmaf(b, b, q));
  }
  if (!(q <= 3e38f) || !(fabsf(s) <= 3e38f)) {  // beyond the numbers of f32, or not a number
    double ds = 0, dq = 0;
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      const double a = widen<DTYPE>(words[i] & 0xffffu), b = widen<DTYPE>(words[i] >> 16);
      ds += a + b;
      dq += a * a + b * b;
    }
    sum += ds;
    squares += dq;
    return;
  }
  sum += s;
  squares += q;
}

template <int DTYPE>
__device__ void add_small_reals(const One& one, const unsigned char* from, i64 bytes, Sums& out) {
  constexpr int kSize = DTYPE == F32 ? 4 : 2;
  Real32 r;
  r.begin();
  double sum = 0, squares = 0;
  const i64 head = min((i64)((16 - ((u64)from & 15)) & 15), bytes);
  const i64 vectors = (bytes - head) / 16;
  const i64 behind = head + vectors * 16;
  const auto element = [&](i64 at) {
    const float v = DTYPE == F32 ? *(const float*)(from + at) : widen<DTYPE == F32 ? BF16 : DTYPE>(*(const unsigned short*)(from + at));
    r.look(v);
    sum += v;
    squares += (double)v * v;
  };
  for (i64 at = threadIdx.x * kSize; at < head; at += THREADS * kSize) element(at);
  for (i64 at = behind + threadIdx.x * kSize; at < bytes; at += THREADS * kSize) element(at);
  const uint4* const many = (const uint4*)(from + head);
  const auto vector = [&](const uint4& v) {
    if constexpr (DTYPE == F32) {
      const float values[4] = {__int_as_float(v.x), __int_as_float(v.y), __int_as_float(v.z), __int_as_float(v.w)};
#pragma unroll
      for (int k = 0; k < 4; ++k) {
        r.look(values[k]);
        sum += values[k];
        squares = fma((double)values[k], (double)values[k], squares);
      }
    } else {
      add_halves<DTYPE>(v, r, sum, squares);
    }
  };
  i64 i = threadIdx.x;
  for (; i + 7 * THREADS < vectors; i += 8 * THREADS) {
    uint4 v[8];
#pragma unroll
    for (int k = 0; k < 8; ++k) v[k] = many[i + k * THREADS];
#pragma unroll
    for (int k = 0; k < 8; ++k) vector(v[k]);
  }
  for (; i + 3 * THREADS < vectors; i += 4 * THREADS) {
    const uint4 a = many[i], b = many[i + THREADS], c = many[i + 2 * THREADS], d = many[i + 3 * THREADS];
    vector(a);
    vector(b);
    vector(c);
    vector(d);
  }
  for (; i < vectors; i += THREADS) vector(many[i]);
  merge(out, r.max, r.min, sum, squares, out.imax, out.imin, 0, 0, r.nans);
}

template <class T, bool IS_REAL, bool IS_TRUTH, bool IS_UNSIGNED64>
__device__ void add_elements(const unsigned char* from, i64 bytes, Sums& out) {
  const T* const values = (const T*)from;
  const i64 n = bytes / (i64)sizeof(T);
  for (i64 i = threadIdx.x; i < n; i += THREADS) {
    const T v = values[i];
    if constexpr (IS_REAL) {
      out.max = fmax(out.max, (double)v);
      out.min = fmin(out.min, (double)v);
      out.sum += (double)v;
      out.squares += (double)v * (double)v;
      out.nans |= v != v;
    } else {
      i64 w = IS_TRUTH ? (i64)(v != 0) : (i64)v;
      if (IS_UNSIGNED64) w ^= (i64)0x8000000000000000ull;  // keeps the order
      out.imax = w > out.imax ? w : out.imax;
      out.imin = w < out.imin ? w : out.imin;
    }
  }
}

__device__ u32 product(u32 a, u32 b) {
  u32 p = 0;
  for (int i = 31; i >= 0; --i) {
    if (a >> i & 1) p ^= b;
    b = b & 1 ? (b >> 1) ^ POLYNOMIAL : b >> 1;
  }
  return p;
}

// Times x^(8 * bytes); powers[k] is x^(8 * 2^k).
__device__ u32 shifted(u32 a, u64 bytes, const u32* powers) {
  for (int k = 0; bytes != 0; ++k, bytes >>= 1)
    if (bytes & 1) a = product(a, powers[k]);
  return a;
}

__device__ __forceinline__ u32 word_at(const unsigned char* from, i64 word, bool is_aligned) {
  if (is_aligned) return ((const u32*)from)[word];
  const unsigned char* const p = from + word * 4;
  return p[0] | (u32)p[1] << 8 | (u32)p[2] << 16 | (u32)p[3] << 24;
}

// tables: 4 x 256 words of the step over 256 words, 256 of a byte, 40 powers.
__device__ u32 crc_of(const unsigned char* from, i64 bytes, const u32* tables, u32* shared) {
  const i64 words = bytes / 4, rows = (words + THREADS - 1) / THREADS, pad = rows * THREADS - words;
  const bool is_aligned = ((u64)from & 3) == 0;
  u32 acc = 0;
  const auto step = [&](u32 w) {
    acc = shared[acc & 255] ^ shared[256 + (acc >> 8 & 255)] ^ shared[512 + (acc >> 16 & 255)] ^ shared[768 + (acc >> 24)] ^ w;
  };
  i64 at = (i64)threadIdx.x - pad, row = 0;
  if (rows > 0) {
    acc = at >= 0 ? word_at(from, at, is_aligned) : 0;
    at += THREADS;
    row = 1;
  }
  for (; row + 4 <= rows; row += 4, at += 4 * THREADS) {
    const u32 a = word_at(from, at, is_aligned), b = word_at(from, at + THREADS, is_aligned),
              c = word_at(from, at + 2 * THREADS, is_aligned), d = word_at(from, at + 3 * THREADS, is_aligned);
    step(a);
    step(b);
    step(c);
    step(d);
  }
  for (; row < rows; ++row, at += THREADS) step(word_at(from, at, is_aligned));
  const u32* const powers = tables + 1280;
  // Neighbours: the left one is so many words further from the end.
  for (int k = 0, apart = 1; apart < 32; apart *= 2, ++k) {
    const u32 other = __shfl_down_sync(0xffffffffu, acc, apart);
    acc = product(acc, powers[k + 2]) ^ other;
  }
  __shared__ u32 of_warps[THREADS / 32];
  __syncthreads();
  if (threadIdx.x % 32 == 0) of_warps[threadIdx.x / 32] = acc;
  __syncthreads();
  u32 whole = 0;
  if (threadIdx.x == 0) {
    for (int w = 0; w < THREADS / 32; ++w) whole = product(whole, powers[7]) ^ of_warps[w];
    whole = product(whole, powers[2]);
    for (i64 i = words * 4; i < bytes; ++i) whole = whole >> 8 ^ tables[1024 + ((whole ^ from[i]) & 255)];
  }
  return whole;
}

__device__ u64 xor_of(const unsigned char* from, i64 bytes) {
  u64 x = 0;
  const i64 words = bytes / 8;
  if (((u64)from & 7) == 0) {
    for (i64 i = threadIdx.x; i < words; i += THREADS) x ^= ((const u64*)from)[i];
  } else {
    for (i64 i = threadIdx.x; i < words * 8; i += THREADS) x ^= (u64)from[i] << 8 * (i & 7);
  }
  for (i64 i = words * 8 + threadIdx.x; i < bytes; i += THREADS) x ^= (u64)from[i] << 8 * (i & 7);
  return x;
}

#define ALL 0xffffffffu

// Over the threads of a block: what is known to be the same in all of them is left out.
__device__ void of_block(Sums& s, bool is_real, u32 wants) {
  __shared__ Sums of_warps[THREADS / 32];
  if (wants & WANTS_VALUES) {
    if (is_real) {
      for (int apart = 16; apart > 0; apart /= 2) {
        s.max = fmax(s.max, __shfl_down_sync(ALL, s.max, apart));
        s.min = fmin(s.min, __shfl_down_sync(ALL, s.min, apart));
        s.sum += __shfl_down_sync(ALL, s.sum, apart);
        s.squares += __shfl_down_sync(ALL, s.squares, apart);
      }
      s.nans = __any_sync(ALL, s.nans != 0);
    } else {
      for (int apart = 16; apart > 0; apart /= 2) {
        const i64 imax = __shfl_down_sync(ALL, s.imax, apart), imin = __shfl_down_sync(ALL, s.imin, apart);
        s.imax = imax > s.imax ? imax : s.imax;
        s.imin = imin < s.imin ? imin : s.imin;
      }
    }
  }
  if (wants & (WANTS_CRC | WANTS_XOR))
    for (int apart = 16; apart > 0; apart /= 2) {
      s.xor64 ^= __shfl_down_sync(ALL, s.xor64, apart);
      s.crc ^= __shfl_down_sync(ALL, s.crc, apart);
    }
  __syncthreads();
  if (threadIdx.x % 32 == 0) of_warps[threadIdx.x / 32] = s;
  __syncthreads();
  if (threadIdx.x == 0)
#pragma unroll
    for (int w = 1; w < THREADS / 32; ++w) {
      const Sums& o = of_warps[w];
      merge(s, o.max, o.min, o.sum, o.squares, o.imax, o.imin, o.xor64, o.crc, o.nans);
    }
}

__device__ void put(Result* to, const Sums& s) {
  to->max = s.max;
  to->min = s.min;
  to->imax = s.imax;
  to->imin = s.imin;
  to->sum = s.sum;
  to->squares = s.squares;
  to->xor64 = s.xor64;
  to->crc = s.crc;
  to->nans = s.nans;
}

extern "C" __global__ void __launch_bounds__(THREADS, 3) assay_measure(const __grid_constant__ Args args) {
  __shared__ u32 shared[1024];
  __shared__ bool is_last;
  u32 which = 0;
  while (which + 1 < args.n && blockIdx.x >= args.one[which + 1].first_block) ++which;
  const One& one = args.one[which];
  if (args.wants & WANTS_CRC) {
    for (int i = threadIdx.x; i < 1024; i += THREADS) shared[i] = args.tables[i];
    __syncthreads();
  }
  const i64 all = one.count * one.size, part = ((all + one.blocks - 1) / one.blocks + args.part_bytes - 1) / args.part_bytes * args.part_bytes;
  const i64 begin = min((i64)(blockIdx.x - one.first_block) * part, all), bytes = min(part, all - begin);
  const unsigned char* const from = one.data + begin;
  Sums s;
  clear(s);
  if (args.wants & WANTS_VALUES) switch (one.dtype) {
    case F32: add_small_reals<F32>(one, from, bytes, s); break;
    case F16: add_small_reals<F16>(one, from, bytes, s); break;
    case BF16: add_small_reals<BF16>(one, from, bytes, s); break;
    case F64: add_elements<double, true, false, false>(from, bytes, s); break;
    case I64: add_elements<i64, false, false, false>(from, bytes, s); break;
    case I32: add_elements<int, false, false, false>(from, bytes, s); break;
    case I16: add_elements<short, false, false, false>(from, bytes, s); break;
    case I8: add_elements<signed char, false, false, false>(from, bytes, s); break;
    case U64: add_elements<u64, false, false, true>(from, bytes, s); break;
    case U32: add_elements<u32, false, false, false>(from, bytes, s); break;
    case U16: add_elements<unsigned short, false, false, false>(from, bytes, s); break;
    case U8: add_elements<unsigned char, false, false, false>(from, bytes, s); break;
    case BOOL: add_elements<unsigned char, false, true, false>(from, bytes, s); break;
  }
  if (args.wants & WANTS_XOR) s.xor64 = xor_of(from, bytes);
  if (args.wants & WANTS_CRC) {
    const u32 crc = crc_of(from, bytes, args.tables, shared);
    s.crc = threadIdx.x == 0 ? shifted(crc, (u64)(all - begin - bytes), args.tables + 1280) : 0;
  }
  const bool is_real = one.dtype <= BF16;
  of_block(s, is_real, args.wants);
  if (one.blocks > 1) {
    if (threadIdx.x == 0) {
      put(args.parts + blockIdx.x, s);
      __threadfence();
      is_last = atomicAdd(args.finished + which, 1u) == one.blocks - 1;
    }
    __syncthreads();
    if (!is_last) return;
    __threadfence();
    clear(s);
    for (u32 i = threadIdx.x; i < one.blocks; i += THREADS) {
      const Result* const p = args.parts + one.first_block + i;  // of other processors: not what this one may have kept
      merge(s, __ldcg(&p->max), __ldcg(&p->min), __ldcg(&p->sum), __ldcg(&p->squares), __ldcg(&p->imax), __ldcg(&p->imin),
            __ldcg(&p->xor64), __ldcg(&p->crc), __ldcg(&p->nans));
    }
    of_block(s, is_real, args.wants);
  }
  if (threadIdx.x == 0) {
    if (args.wants & WANTS_CRC) s.crc = ~(s.crc ^ shifted(0xffffffffu, (u64)all, args.tables + 1280));
    if (one.dtype == U64) {
      s.imax ^= (i64)0x8000000000000000ull;
      s.imin ^= (i64)0x8000000000000000ull;
    }
    if (one.blocks > 1) args.finished[which] = 0;
    put(one.out, s);
  }
}
)cuda";

}  // namespace assay::library

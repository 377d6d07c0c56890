// What the sums of a comparison cost where nothing else is done: reads pairs of files of f16 with pread and
// takes, with the compiler's SIMD, the sums that msprobe's columns need. bench_plain_f16 THREADS OFFSET MINE
// GOLDEN [MINE GOLDEN]...
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <thread>
#include <vector>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace {

constexpr int64_t kBlock = 65536, kTile = 2048;

struct Sums {
  double ab = 0, aa = 0, bb = 0, dd = 0;
  float max_abs = 0, max_rel = 0;
  int64_t under_1e3 = 0, under_5e3 = 0;
};

#define CLONES \
  __attribute__((target_clones("arch=skylake-avx512", "arch=haswell", "default"), optimize("O3,fast-math")))

#if defined(__x86_64__)
// The compiler does not vectorise the conversion by itself. n is a multiple of 8 but for the last block.
__attribute__((target("avx2,f16c"))) void widen(const uint16_t* from, float* to, int64_t n) {
  for (int64_t i = 0; i < n; i += 8)
    _mm256_storeu_ps(to + i, _mm256_cvtph_ps(_mm_loadu_si128(reinterpret_cast<const __m128i*>(from + i))));
}
#else
void widen(const uint16_t* from, float* to, int64_t n) {
  for (int64_t i = 0; i < n; ++i) {
    _Float16 value;
    std::memcpy(&value, from + i, sizeof value);
    to[i] = static_cast<float>(value);
  }
}
#endif

// Two loops, since the compiler vectorises neither when they are one.
CLONES void add_products(const float* a, const float* b, int64_t n, Sums& sums) {
  double ab = 0, aa = 0, bb = 0, dd = 0;
  for (int64_t i = 0; i < n; ++i) {
    const double x = static_cast<double>(a[i]), y = static_cast<double>(b[i]);
    ab += x * y;
    aa += x * x;
    bb += y * y;
    dd += (x - y) * (x - y);
  }
  sums.ab += ab;
  sums.aa += aa;
  sums.bb += bb;
  sums.dd += dd;
}

CLONES void add_errors(const float* a, const float* b, int64_t n, Sums& sums) {
  float max_abs = 0, max_rel = 0;
  int32_t under_1e3 = 0, under_5e3 = 0;
  for (int64_t i = 0; i < n; ++i) {
    const float distance = __builtin_fabsf(a[i] - b[i]);
    const float relative = distance / __builtin_fabsf(b[i]);
    max_abs = distance > max_abs ? distance : max_abs;
    max_rel = relative > max_rel ? relative : max_rel;
    under_1e3 += relative < 0.001f ? 1 : 0;
    under_5e3 += relative < 0.005f ? 1 : 0;
  }
  sums.max_abs = std::max(sums.max_abs, max_abs);
  sums.max_rel = std::max(sums.max_rel, max_rel);
  sums.under_1e3 += under_1e3;
  sums.under_5e3 += under_5e3;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 5) return 2;
  const int threads = std::atoi(argv[1]);
  const int64_t offset = std::atoll(argv[2]);
  std::vector<int> files;
  for (int i = 3; i < argc; ++i) files.push_back(open(argv[i], O_RDONLY));
  struct stat status {};
  if (files[0] < 0 || fstat(files[0], &status) != 0) return 2;
  const int64_t count = (status.st_size - offset) / 2;
  std::vector<Sums> totals(static_cast<size_t>(threads));
  std::vector<std::thread> workers;
  for (int t = 0; t < threads; ++t)
    workers.emplace_back([&, t] {
      std::vector<uint16_t> raw(kBlock);
      std::vector<float> mine(kBlock), golden(kBlock);
      for (size_t pair = 0; pair + 1 < files.size(); pair += 2)
        for (int64_t first = t * kBlock; first < count; first += threads * kBlock) {
          const int64_t n = std::min(kBlock, count - first);
          for (const bool is_mine : {true, false}) {
            const ssize_t got = pread(files[pair + (is_mine ? 0 : 1)], raw.data(), static_cast<size_t>(n) * 2,
                                      offset + first * 2);
            if (got < n * 2) std::exit(2);
            widen(raw.data(), (is_mine ? mine : golden).data(), n);
          }
          Sums& sums = totals[static_cast<size_t>(t)];
          for (int64_t at = 0; at < n; at += kTile) {  // both loops find the tile in the first-level cache
            const int64_t length = std::min(kTile, n - at);
            add_products(mine.data() + at, golden.data() + at, length, sums);
            add_errors(mine.data() + at, golden.data() + at, length, sums);
          }
        }
    });
  for (std::thread& worker : workers) worker.join();
  Sums total;
  for (const Sums& part : totals) {
    total.ab += part.ab;
    total.aa += part.aa;
    total.bb += part.bb;
    total.under_1e3 += part.under_1e3;
  }
  std::printf("%g %lld\n", total.ab / std::sqrt(total.aa * total.bb),
              static_cast<long long>(total.under_1e3));
}

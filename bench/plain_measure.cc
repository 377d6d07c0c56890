// What the sums of a comparison cost where nothing else is done: reads pairs of tensors with pread and takes,
// with the compiler's SIMD, the sums that msprobe's columns need. bench_plain_measure THREADS LIST; a
// line of LIST is "COUNT TYPE OFFSET PATH TYPE OFFSET PATH" with tabs, of mine and golden; types: f16, f32.
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <sstream>
#include <string>
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

#if defined(ASSAY_NO_AVX512)
#define TARGETS target_clones("arch=haswell", "default")
#else
#define TARGETS target_clones("arch=skylake-avx512", "arch=haswell", "default")
#endif
#define CLONES __attribute__((TARGETS, optimize("O3,fast-math")))

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

struct Tensor {
  bool is_half = false;
  int64_t offset = 0;
  std::string path;
};

struct Pair {
  int64_t count = 0;
  Tensor mine, golden;
};

std::vector<Pair> read_list(const char* path) {
  std::vector<Pair> pairs;
  std::ifstream file(path);
  std::string line;
  while (std::getline(file, line)) {
    std::istringstream words(line);
    Pair pair;
    std::string type;
    words >> pair.count;
    for (Tensor* tensor : {&pair.mine, &pair.golden}) {
      words >> type >> tensor->offset;
      tensor->is_half = type == "f16";
      words.ignore(1);
      std::getline(words, tensor->path, '\t');
    }
    pairs.push_back(std::move(pair));
  }
  return pairs;
}

struct Buffers {
  std::vector<uint16_t> raw = std::vector<uint16_t>(kBlock);
  std::vector<float> values = std::vector<float>(kBlock);
};

void read_block(int file, const Tensor& tensor, int64_t first, int64_t n, Buffers& into) {
  const int64_t size = tensor.is_half ? 2 : 4;
  void* const to =
      tensor.is_half ? static_cast<void*>(into.raw.data()) : static_cast<void*>(into.values.data());
  if (pread(file, to, static_cast<size_t>(n * size), tensor.offset + first * size) < n * size) std::exit(2);
  if (tensor.is_half) widen(into.raw.data(), into.values.data(), n);
}

// Of the blocks of this pair those that are this thread's turn.
void add_pair(const Pair& pair, int64_t turn, int64_t threads, Buffers* buffers, Sums& sums) {
  if (turn * kBlock >= pair.count) return;
  const int mine = open(pair.mine.path.c_str(), O_RDONLY), golden = open(pair.golden.path.c_str(), O_RDONLY);
  if (mine < 0 || golden < 0) std::exit(2);
  for (int64_t first = turn * kBlock; first < pair.count; first += threads * kBlock) {
    const int64_t n = std::min(kBlock, pair.count - first);
    read_block(mine, pair.mine, first, n, buffers[0]);
    read_block(golden, pair.golden, first, n, buffers[1]);
    for (int64_t at = 0; at < n; at += kTile) {  // both loops find the tile in the first-level cache
      const int64_t length = std::min(kTile, n - at);
      add_products(buffers[0].values.data() + at, buffers[1].values.data() + at, length, sums);
      add_errors(buffers[0].values.data() + at, buffers[1].values.data() + at, length, sums);
    }
  }
  close(mine);
  close(golden);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 3) return 2;
  const int64_t threads = std::atoll(argv[1]);
  const std::vector<Pair> pairs = read_list(argv[2]);
  std::vector<Sums> totals(static_cast<size_t>(threads));
  std::vector<std::thread> workers;
  for (int64_t t = 0; t < threads; ++t)
    workers.emplace_back([&, t] {
      Buffers buffers[2];
      for (size_t i = 0; i < pairs.size(); ++i)
        add_pair(pairs[i], (t + static_cast<int64_t>(i)) % threads, threads, buffers,
                 totals[static_cast<size_t>(t)]);
    });
  for (std::thread& worker : workers) worker.join();
  Sums total;
  for (const Sums& part : totals) {
    total.ab += part.ab;
    total.aa += part.aa;
    total.bb += part.bb;
    total.under_1e3 += part.under_1e3;
  }
  std::printf("%zu pairs %g %lld\n", pairs.size(), total.ab / std::sqrt(total.aa * total.bb),
              static_cast<long long>(total.under_1e3));
}

// The metric passes against merely reading both arrays once (a plain SIMD sum), in the same run and with the
// same threads. Prints a Markdown table. Tensors are larger than the caches; each number is the best of
// several turns.
#include "assay/metric/metric.h"
#include "assay/metric/pair_gatherer.h"
#include "assay/metric/tile_kernels.h"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <functional>
#include <thread>
#include <vector>

namespace assay {
namespace {

constexpr int64_t kCount = int64_t{1} << 26;
constexpr int kTurns = 5;

using Clock = std::chrono::steady_clock;

__attribute__((target_clones("avx512f", "avx2", "default"), optimize("O3"))) uint32_t sum_words(
    const uint32_t* x, int64_t n) {
  uint32_t total = 0;
  for (int64_t i = 0; i < n; ++i) total += x[i];
  return total;
}

struct Data {
  DType dtype;
  std::vector<std::byte> mine, golden;
};

Data make(DType dtype) {
  Data data{dtype, std::vector<std::byte>(static_cast<size_t>(kCount * size_of(dtype))), {}};
  data.golden = data.mine;
  std::vector<double> a(kBlockElements), b(kBlockElements);
  uint64_t state = 1;
  for (int64_t i = 0; i < kBlockElements; ++i) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    b[static_cast<size_t>(i)] =
        static_cast<double>(static_cast<int64_t>(state >> 20) - (int64_t{1} << 43)) * 0x1p-42 + 1e-3;
    a[static_cast<size_t>(i)] = b[static_cast<size_t>(i)] * (1 + static_cast<double>(state & 255) * 1e-6);
  }
  for (int64_t first = 0; first < kCount; first += kBlockElements) {
    from_f64(dtype, a.data(), kBlockElements, data.mine.data() + first * size_of(dtype));
    from_f64(dtype, b.data(), kBlockElements, data.golden.data() + first * size_of(dtype));
  }
  return data;
}

double seconds(int threads, const std::function<void(int64_t first, int64_t count)>& work) {
  double best = 1e9;
  for (int turn = 0; turn < kTurns; ++turn) {
    const auto start = Clock::now();
    std::vector<std::thread> workers;
    for (int t = 0; t < threads; ++t)
      workers.emplace_back([&, t] { work(kCount / threads * t, kCount / threads); });
    for (std::thread& worker : workers) worker.join();
    best = std::min(best, std::chrono::duration<double>(Clock::now() - start).count());
  }
  return best;
}

double read_seconds(const Data& data, int threads) {
  return seconds(threads, [&](int64_t first, int64_t count) {
    volatile double keep = 0;
    for (const auto* side : {&data.mine, &data.golden}) {
      // Narrower elements are summed four bytes at a time: the cheapest pass that reads them all.
      const std::byte* at = side->data() + first * size_of(data.dtype);
      const int64_t words = count * size_of(data.dtype) / 4;
      keep = keep + static_cast<double>(sum_words(reinterpret_cast<const uint32_t*>(at), words));
    }
  });
}

double gather_seconds(const Data& data, int threads, GatherMask needs) {
  return seconds(threads, [&](int64_t first, int64_t count) {
    PairGatherer gatherer(data.dtype, data.dtype, {needs}, first);
    const int64_t size = size_of(data.dtype);
    for (int64_t done = 0; done < count; done += kBlockElements)
      gatherer.add({data.dtype, data.mine.data() + (first + done) * size, kBlockElements},
                   {data.dtype, data.golden.data() + (first + done) * size, kBlockElements});
    const Gathered gathered = gatherer.take();
    volatile double keep = gathered.pair.diff_squares;
    static_cast<void>(keep);
  });
}

}  // namespace
}  // namespace assay

int main() {
  using namespace assay;
  constexpr GatherMask kAll = gather::sums | gather::means | gather::relative | gather::ulp;
  GatherMask by_default = 0;
  for (const Metric* metric : metrics())
    if (metric->by_default) by_default |= metric->needs;
  std::printf("Instruction set: %s\n\n", tile::target_name());
  std::printf(
      "| dtype | threads | read both, GB/s | default | all but KL and quantiles | + KL | + quantiles |\n");
  std::printf("|---|---|---|---|---|---|---|\n");
  for (const DType dtype : {DType::f32, DType::f16, DType::bf16}) {
    const Data data = make(dtype);
    for (const int threads : {1, 2}) {
      const double read = read_seconds(data, threads);
      const double all = gather_seconds(data, threads, kAll);
      std::printf("| %s | %d | %.1f | %.2fx | %.2fx | +%.2fx | +%.2fx |\n", std::string(name(dtype)).c_str(),
                  threads, 2e-9 * static_cast<double>(kCount * size_of(dtype)) / read,
                  gather_seconds(data, threads, by_default) / read, all / read,
                  (gather_seconds(data, threads, kAll | gather::softmax) - all) / read,
                  (gather_seconds(data, threads, kAll | gather::quantiles) - all) / read);
    }
  }
}

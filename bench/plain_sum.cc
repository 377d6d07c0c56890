// What reading costs: sums the floats of the given files with pread and the compiler's SIMD, and does nothing
// else. bench_plain_sum THREADS OFFSET FILE...
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <thread>
#include <vector>

namespace {

constexpr int64_t kBlock = 65536;

__attribute__((target_clones("avx512f", "avx2", "default"), optimize("O3,fast-math"))) float sum(
    const float* x, int64_t n) {
  float total = 0;
  for (int64_t i = 0; i < n; ++i) total += x[i];
  return total;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 4) return 2;
  const int threads = std::atoi(argv[1]);
  const int64_t offset = std::atoll(argv[2]);
  std::vector<int> files;
  for (int i = 3; i < argc; ++i) files.push_back(open(argv[i], O_RDONLY));
  struct stat status {};
  if (files[0] < 0 || fstat(files[0], &status) != 0) return 2;
  const int64_t count = (status.st_size - offset) / 4;
  std::vector<double> totals(static_cast<size_t>(threads));
  std::vector<std::thread> workers;
  for (int t = 0; t < threads; ++t)
    workers.emplace_back([&, t] {
      std::vector<float> buffer(kBlock);
      for (int64_t first = t * kBlock; first < count; first += threads * kBlock)
        for (const int file : files) {
          const ssize_t got = pread(file, buffer.data(), kBlock * 4, offset + first * 4);
          totals[static_cast<size_t>(t)] += static_cast<double>(sum(buffer.data(), got / 4));
        }
    });
  for (std::thread& worker : workers) worker.join();
  double total = 0;
  for (const double part : totals) total += part;
  std::printf("%g\n", total);
}

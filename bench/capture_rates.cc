// How fast a caller gets rid of its tensors, against what must be done at least: copying them, reading them,
// writing files. Usage: bench_capture_rates FOLDER; prints lines "name ours plain", both in GB/s or files/s,
// measured in turns.
#include "include/assay/assay.h"

#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

namespace {

namespace fs = std::filesystem;
constexpr size_t kBytes = size_t{64} << 20;
constexpr int kTurns = 7;

// Of this thread: other work on the machine does not count.
double thread_seconds() {
  timespec now{};
  ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) * 1e-9;
}

double wall_seconds() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

double best(double (*clock)(), const std::function<void()>& run) {
  const double start = clock();
  run();
  return clock() - start;
}

void print(const std::string& name, double amount, double ours, double plain) {
  std::printf("%s %.4g %.4g\n", name.c_str(), amount / ours, amount / plain);
  std::fflush(stdout);
}

assay_capture* open_capture(const fs::path& folder, int64_t budget) {
  fs::create_directories(folder);
  assay_capture_config config;
  assay_capture_config_init(&config);
  const std::string root = folder.string();
  config.root = root.c_str();
  config.budget = budget;
  assay_capture* capture = nullptr;
  if (assay_capture_open(&config, &capture) != ASSAY_OK) {
    std::fprintf(stderr, "%s\n", assay_last_error());
    std::exit(2);
  }
  return capture;
}

void submit(assay_capture* capture, const std::vector<unsigned char>& data, int dtype, int64_t size,
            const std::string& path, int format, assay_statistics* statistics, bool has_sums = false,
            bool is_handed_over = false) {
  const int64_t shape[] = {static_cast<int64_t>(data.size()) / size};
  const assay_tensor tensor{data.data(), dtype, 1, shape, nullptr, is_handed_over ? +[](void*) {} : nullptr,
                            nullptr};
  const assay_attributes attributes{0, 0, has_sums ? 1 : 0, 0, nullptr};
  if (assay_capture_tensor(capture, &tensor, path.c_str(), format, &attributes, statistics) != ASSAY_OK) {
    std::fprintf(stderr, "%s\n", assay_last_error());
    std::exit(2);
  }
}

uint64_t read_all(const std::vector<unsigned char>& data) {
  uint64_t sum = 0;
  const auto* const words = reinterpret_cast<const uint64_t*>(data.data());
  for (size_t i = 0; i < data.size() / 8; ++i) sum += words[i];
  return sum;
}

// A caller that hands over tensors as long as the budget lasts, against a copy to memory that is there, and
// to memory that is new.
void copies(const fs::path& folder, const std::vector<unsigned char>& data) {
  std::vector<unsigned char> target(data.size());
  double ours_new = 1e9, ours_used = 1e9, plain = 1e9, plain_new = 1e9;
  for (int turn = 0; turn < kTurns; ++turn) {
    plain =
        std::min(plain, best(thread_seconds, [&] { std::memcpy(target.data(), data.data(), data.size()); }));
    void* fresh = nullptr;
    plain_new = std::min(plain_new, best(thread_seconds, [&] {
                           fresh = std::malloc(data.size());
                           std::memcpy(fresh, data.data(), data.size());
                         }));
    std::free(fresh);
    assay_capture* const capture = open_capture(folder, int64_t{1} << 30);
    for (int k = 0; k < 6; ++k) {
      const double seconds = best(thread_seconds, [&] {
        submit(capture, data, ASSAY_F32, 4, "x" + std::to_string(k) + ".npy", ASSAY_NPY, nullptr);
      });
      (k < 3 ? ours_new : ours_used) = std::min(k < 3 ? ours_new : ours_used, seconds);
      if (k == 2) assay_capture_flush(capture, 60000);  // their memory is used again
    }
    assay_capture_close(capture);
    fs::remove_all(folder);
  }
  const double bytes = static_cast<double>(data.size()) * 1e-9;
  print("copy_again", bytes, ours_used, plain);
  print("copy_first", bytes, ours_new, plain_new);
}

// Numbers that every type can have: halves whose upper byte is that of 0.5 to 2.
void statistics(const fs::path& folder, const std::vector<unsigned char>& data) {
  assay_capture* const capture = open_capture(folder, int64_t{1} << 30);
  const struct {
    const char* name;
    int dtype;
    int64_t size;
    bool has_sums;
  } kinds[] = {{"f32", ASSAY_F32, 4, false},   {"f16", ASSAY_F16, 2, false},
               {"bf16", ASSAY_BF16, 2, false}, {"i8", ASSAY_I8, 1, false},
               {"u8", ASSAY_U8, 1, false},     {"i16", ASSAY_I16, 2, false},
               {"i32", ASSAY_I32, 4, false},   {"i64", ASSAY_I64, 8, false},
               {"f64", ASSAY_F64, 8, false},   {"f32_and_sums", ASSAY_F32, 4, true}};
  uint64_t kept = 0;
  for (const auto& kind : kinds) {
    double ours = 1e9, plain = 1e9;
    assay_statistics out{};
    for (int turn = 0; turn < 2 * kTurns; ++turn) {
      plain = std::min(plain, best(thread_seconds, [&] { kept += read_all(data); }));
      ours = std::min(ours, best(thread_seconds, [&] {
                        submit(capture, data, kind.dtype, kind.size, "", ASSAY_STATISTICS_ONLY, &out,
                               kind.has_sums);
                      }));
    }
    print(std::string("statistics_") + kind.name, static_cast<double>(data.size()) * 1e-9, ours, plain);
  }
  assay_capture_close(capture);
  if (kept == 1) std::puts("");  // the sums are not taken for nothing
}

void plain_file(const fs::path& path, const void* data, size_t size) {
  const std::string temporary = path.string() + ".tmp";
  FILE* const file = std::fopen(temporary.c_str(), "wb");
  std::fwrite(data, 1, size, file);
  std::fclose(file);
  std::rename(temporary.c_str(), path.c_str());
}

// Until everything is in its file. What a turn wrote stays till the end where files are small: ext4 steps
// over every inode that was freed in the last minutes, and whoever writes behind a removal pays for it.
void files(const fs::path& folder, const std::string& name, const std::vector<unsigned char>& data, int count,
           int turns, bool is_handed_over, double amount) {
  const bool is_small = data.size() < kBytes;
  double ours = 1e9, plain = 1e9;
  for (int turn = 0; turn < 2 * turns; ++turn) {
    const fs::path place = folder / std::to_string(turn);
    fs::create_directories(place);
    if ((turn + turn / 2) % 2 == 0) {  // plain, ours, ours, plain, ...
      plain = std::min(plain, best(wall_seconds, [&] {
                         for (int k = 0; k < count; ++k)
                           plain_file(place / (std::to_string(k) + ".npy"), data.data(), data.size());
                       }));
    } else {
      assay_capture* const capture = open_capture(place, int64_t{1} << 30);
      ours = std::min(ours, best(wall_seconds, [&] {
                        for (int k = 0; k < count; ++k)
                          submit(capture, data, ASSAY_F32, 4, std::to_string(k) + ".npy", ASSAY_NPY, nullptr,
                                 false, is_handed_over);
                        assay_capture_flush(capture, 600000);
                      }));
      assay_capture_close(capture);
    }
    if (!is_small) fs::remove_all(place);
  }
  fs::remove_all(folder);
  print(name, amount, ours, plain);
}

// The budget and what the process held at most.
void memory(const fs::path& folder, const std::vector<unsigned char>& data) {
  rusage before{}, after{};
  ::getrusage(RUSAGE_SELF, &before);
  constexpr int64_t kBudget = int64_t{256} << 20;
  assay_capture* const capture = open_capture(folder, kBudget);
  for (int k = 0; k < 16; ++k)
    submit(capture, data, ASSAY_F32, 4, std::to_string(k) + ".npy", ASSAY_NPY, nullptr);
  assay_capture_close(capture);
  ::getrusage(RUSAGE_SELF, &after);
  fs::remove_all(folder);
  std::printf("memory_mb %.0f %.0f\n", static_cast<double>(after.ru_maxrss - before.ru_maxrss) / 1024,
              static_cast<double>(kBudget >> 20));
}

}  // namespace

int main(int count, char** words) {
  if (count < 2) return 2;
  const fs::path folder = fs::path(words[1]) / "capture";
  const int small = count > 2 ? std::atoi(words[2]) : 100000;
  std::vector<unsigned char> data(kBytes);
  for (size_t i = 0; i < data.size(); ++i)
    data[i] = static_cast<unsigned char>(i % 2 == 1 ? 0x38 + i / 2 % 8 : i / 2 * 37);
  files(folder, "small_files", std::vector<unsigned char>(data.begin(), data.begin() + 1024), small, 2, false,
        small);  // first, before anything is removed
  memory(folder, data);
  statistics(folder, data);
  copies(folder, data);
  constexpr int kAsManyAsFit = 16, kSustained = 64;  // in the budget, and four times as many
  const auto gigabytes = [](int files) { return files * static_cast<double>(kBytes) * 1e-9; };
  files(folder, "burst", data, kAsManyAsFit, 3, false, gigabytes(kAsManyAsFit));
  files(folder, "handed_over", data, kSustained, 3, true, gigabytes(kSustained));
  files(folder, "large_files", data, kSustained, 3, false, gigabytes(kSustained));
  return 0;
}

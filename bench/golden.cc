// One golden operator, computed as often as it is asked for, or a product of OpenBLAS alone, for
// bench/opcheck.py.
//
//   bench_golden THREADS op TYPE PARAMS.json DTYPE:DIMS:FILE …    inputs are raw elements, read once
//   bench_golden THREADS gemm f32|f64 M N K                       with the threads of OpenBLAS itself
//
// A line "go" on stdin computes once, outputs that are made when they are read too, and prints seconds by the
// clock and seconds of all cores. "out FILE"
// writes the first output that was computed last, as f32.
#include "assay/golden/golden.h"
#include "assay/dump/atb_op_params.h"
#include "assay/golden/blas.h"
#include "assay/golden/numbers.h"
#include "assay/support/parallel.h"
#include "assay/tensor/dense.h"

#include <dlfcn.h>
#include <sys/resource.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <functional>
#include <iostream>
#include <iterator>
#include <sstream>

namespace assay {
namespace {

constexpr int64_t kReadAtOnce = 8192;

[[noreturn]] void stop(const std::string& why) {
  std::fprintf(stderr, "bench_golden: %s\n", why.c_str());
  std::exit(2);
}

double cpu_seconds() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  const auto seconds = [](const timeval& t) {
    return static_cast<double>(t.tv_sec) + 1e-6 * static_cast<double>(t.tv_usec);
  };
  return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

std::string contents(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) stop(path + ": cannot be read");
  return {std::istreambuf_iterator<char>(file), {}};
}

// "bf16:2048,4096:FILE"
OperandPtr input_of(const std::string& text) {
  const size_t first = text.find(':'), second = text.find(':', first + 1);
  if (second == std::string::npos) stop(text + ": not DTYPE:DIMS:FILE");
  const auto dtype = find_dtype(text.substr(0, first));
  if (!dtype) stop(text + ": no such dtype");
  TensorMeta meta{*dtype, {}};
  std::istringstream dims(text.substr(first + 1, second - first - 1));
  for (std::string each; std::getline(dims, each, ',');) meta.shape.dims.push_back(std::stoll(each));
  const std::string data = contents(text.substr(second + 1));
  if (std::ssize(data) != meta.byte_size()) stop(text + ": not as many bytes as the shape has");
  const auto* const begin = reinterpret_cast<const std::byte*>(data.data());
  return dense_in_memory({begin, begin + data.size()}, std::move(meta));
}

// As the comparison reads it, but for the tensor that it is compared with.
void read_all(const Expected& output) {
  const int64_t total = output.value->meta.shape.count();
  const int64_t granule = output.together == nullptr ? 1 : output.together->granule;
  const int64_t at_once = granule * std::max<int64_t>(1, kReadAtOnce / granule);
  parallel_for(static_cast<size_t>((total + kBandElements - 1) / kBandElements), [&](size_t band) {
    Scratch scratch;
    const int64_t begin = static_cast<int64_t>(band) * kBandElements;
    const int64_t end = std::min(total, begin + kBandElements);
    for (int64_t at = begin; at < end; at += at_once) {
      const int64_t count = std::min(at_once, end - at);
      const bool is_read = output.together == nullptr ? output.value->block(at, count, scratch).has_value()
                                                      : output.together->read(at, count, scratch).has_value();
      if (!is_read) stop("an output cannot be read");
    }
  });
}

void write_first(const GoldenOutputs& outputs, const std::string& path) {
  const auto numbers = numbers_of(*outputs.at(0).value, int64_t{1} << 40);
  if (!numbers) stop(numbers.error().message);
  const std::vector<float> narrow(numbers->values.begin(), numbers->values.end());
  std::ofstream(path, std::ios::binary)
      .write(reinterpret_cast<const char*>(narrow.data()),
             static_cast<std::streamsize>(narrow.size() * sizeof(float)));
}

// `prepare` runs before the clock does.
void serve(const std::function<void()>& prepare, const std::function<void()>& once,
           const std::function<void(const std::string&)>& write) {
  for (std::string line; std::getline(std::cin, line);) {
    if (line != "go") {
      write(line.substr(line.find(' ') + 1));
      std::puts("written");
    } else {
      prepare();
      const double cpu = cpu_seconds();
      const auto start = std::chrono::steady_clock::now();
      once();
      const double wall = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
      std::printf("%.9f %.9f\n", wall, cpu_seconds() - cpu);
    }
    std::fflush(stdout);
  }
}

void serve_operator(int threads, std::vector<std::string> words) {
  const ThreadLimit limit(static_cast<size_t>(threads));
  const OpParams params = parse_op_params(contents(words[1]), words[1]);
  if (!params.trouble.empty()) stop(params.trouble);
  GoldenCall call;
  call.type = words[0];
  call.params = GoldenParams(params.list);
  for (size_t i = 2; i < words.size(); ++i) call.in.push_back(input_of(words[i]));
  call.memory = int64_t{1} << 40;
  const GoldenOp* const op = find_golden_op(call.type);
  if (op == nullptr) stop(words[0] + ": there is no such operator");
  GoldenOutputs outputs;
  serve([&] { outputs.clear(); },
        [&] {
          auto computed = op->compute(call);
          if (!computed) stop(computed.error().message);
          outputs = std::move(*computed);
          for (const Expected& output : outputs) read_all(output);
        },
        [&](const std::string& path) { write_first(outputs, path); });
}

// The library that the golden operators have loaded, with threads of its own.
void set_blas_threads(int threads) {
  if (const auto loaded = load_blas(); !loaded) stop(loaded.error().message);
  void* const library = ::dlopen("libopenblas.so.0", RTLD_NOW | RTLD_NOLOAD);
  const auto set = reinterpret_cast<void (*)(int)>(::dlsym(library, "openblas_set_num_threads"));
  set(threads);
}

template <class T>
void serve_gemm(int threads, const std::vector<std::string>& words) {
  const auto m = std::stoi(words[1]), n = std::stoi(words[2]), k = std::stoi(words[3]);
  std::vector<T> a(static_cast<size_t>(m) * static_cast<size_t>(k)),
      b(static_cast<size_t>(n) * static_cast<size_t>(k)), c(static_cast<size_t>(m) * static_cast<size_t>(n));
  for (size_t i = 0; i < a.size(); ++i) a[i] = static_cast<T>(i % 251) / 251;
  for (size_t i = 0; i < b.size(); ++i) b[i] = static_cast<T>(i % 241) / 241;
  set_blas_threads(threads);
  serve([] {},
        [&] {
          multiply(Gemm<T>{false, true, m, n, k, a.data(), k, b.data(), k, c.data(), n});
        },
        [](const std::string&) {});
}

}  // namespace
}  // namespace assay

int main(int argc, char** argv) {
  using namespace assay;
  const std::vector<std::string> words(argv + 1, argv + argc);
  if (words.size() < 4) stop("bench/opcheck.py says how it is called");
  const int threads = std::stoi(words[0]);
  const std::vector<std::string> rest(words.begin() + 2, words.end());
  if (words[1] == "op")
    serve_operator(threads, rest);
  else if (rest[0] == "f32")
    serve_gemm<float>(threads, rest);
  else
    serve_gemm<double>(threads, rest);
}

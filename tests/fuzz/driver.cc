// A small mutating loop around LLVMFuzzerTestOneInput, for compilers without libFuzzer.
//
//   fuzz_format CORPUS_FOLDER… [--seconds N | --runs N] [--seed N]
//   fuzz_format FILE…                                                   replays these inputs
//
// The input is written to crash-<program>.bin in the current folder before it is tried, and the file is
// removed at the end: if the program dies, the file is the input that killed it. The same seed tries the same
// inputs.
#include <fcntl.h>
#include <signal.h>
#include <sys/time.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <random>
#include <string>
#include <string_view>
#include <vector>

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size);

// Giant allocations are findings: a header must not decide how much memory we take. Others may set more in
// the environment.
extern "C" const char* __asan_default_options();
extern "C" const char* __asan_default_options() {
  return "max_allocation_size_mb=2048:allocator_may_return_null=0";
}

namespace {

namespace fs = std::filesystem;
using Input = std::vector<uint8_t>;

constexpr size_t kMostBytes = 64 << 10;
constexpr int kMostSeconds = 1;  // of CPU time for one input, so that a busy machine finds nothing by itself

struct Options {
  std::vector<fs::path> places;
  double seconds = 0;
  int64_t runs = 0;
  uint64_t seed = 1;
};

// The distributions of <random> differ between libraries; the engine does not.
class Dice {
 public:
  explicit Dice(uint64_t seed) : engine_(seed) {}
  size_t below(size_t n) { return n == 0 ? 0 : engine_() % n; }
  uint64_t bits() { return engine_(); }

 private:
  std::mt19937_64 engine_;
};

constexpr int64_t kNumbers[] = {0,
                                1,
                                -1,
                                2,
                                7,
                                8,
                                16,
                                63,
                                64,
                                127,
                                128,
                                255,
                                256,
                                1000,
                                4095,
                                4096,
                                32767,
                                32768,
                                65535,
                                65536,
                                INT32_MAX,
                                INT32_MIN,
                                UINT32_MAX,
                                int64_t{1} << 32,
                                INT64_MAX,
                                INT64_MIN,
                                INT64_MAX / 2,
                                INT64_MAX / 8 + 1};

void flip_bits(Input& input, Dice& dice) {
  for (size_t i = dice.below(4) + 1; i > 0; --i)
    input[dice.below(input.size())] ^= static_cast<uint8_t>(1u << dice.below(8));
}

void overwrite_bytes(Input& input, Dice& dice) {
  for (size_t i = dice.below(4) + 1; i > 0; --i)
    input[dice.below(input.size())] = static_cast<uint8_t>(dice.bits());
}

int64_t telling_number(const Input& input, Dice& dice) {
  const int64_t size = static_cast<int64_t>(input.size());
  if (dice.below(4) == 0) return size + static_cast<int64_t>(dice.below(5)) - 2;
  return kNumbers[dice.below(std::size(kNumbers))];
}

void overwrite_integer(Input& input, Dice& dice) {
  uint64_t number = static_cast<uint64_t>(telling_number(input, dice));
  const size_t width = std::min(size_t{1} << dice.below(4), input.size());
  if (dice.below(4) == 0) number = __builtin_bswap64(number) >> (64 - 8 * width);
  std::memcpy(input.data() + dice.below(input.size() - width + 1), &number, width);
}

// Decimal numbers in text headers: shapes, offsets, versions.
void replace_decimal(Input& input, Dice& dice) {
  const auto is_digit = [](uint8_t c) { return c >= '0' && c <= '9'; };
  auto first =
      std::find_if(input.begin() + static_cast<ptrdiff_t>(dice.below(input.size())), input.end(), is_digit);
  const auto last = std::find_if_not(first, input.end(), is_digit);
  if (first == last) return;
  const std::string number = std::to_string(telling_number(input, dice));
  first = input.erase(first, last);
  input.insert(first, number.begin(), number.end());
}

void remove_run(Input& input, Dice& dice) {
  const size_t first = dice.below(input.size());
  const size_t count = std::min(dice.below(16) + 1, input.size() - first);
  const auto at = input.begin() + static_cast<ptrdiff_t>(first);
  input.erase(at, at + static_cast<ptrdiff_t>(count));
}

void repeat_run(Input& input, Dice& dice) {
  const size_t first = dice.below(input.size());
  const size_t count = std::min(dice.below(32) + 1, input.size() - first);
  const Input run(input.begin() + static_cast<ptrdiff_t>(first),
                  input.begin() + static_cast<ptrdiff_t>(first + count));
  // Mostly once; sometimes so often that what nests or grows without a limit shows it.
  for (size_t times = dice.below(8) == 0 ? dice.below(2000) : 1; times > 0 && input.size() < kMostBytes;
       --times)
    input.insert(input.begin() + static_cast<ptrdiff_t>(first), run.begin(), run.end());
}

void cut(Input& input, Dice& dice) { input.resize(dice.below(input.size() + 1)); }

void splice(Input& input, const Input& other, Dice& dice) {
  if (other.empty()) return;
  const size_t from = dice.below(other.size());
  input.resize(dice.below(input.size() + 1));
  input.insert(input.end(), other.begin() + static_cast<ptrdiff_t>(from), other.end());
}

Input mutate(const std::vector<Input>& corpus, Dice& dice) {
  Input input = corpus[dice.below(corpus.size())];
  for (size_t rounds = dice.below(4) + 1; rounds > 0; --rounds) {
    if (input.empty()) input.push_back(static_cast<uint8_t>(dice.bits()));
    switch (dice.below(10)) {
      case 0:
      case 1:
        flip_bits(input, dice);
        break;
      case 2:
        overwrite_bytes(input, dice);
        break;
      case 3:
      case 4:
        overwrite_integer(input, dice);
        break;
      case 5:
        replace_decimal(input, dice);
        break;
      case 6:
        remove_run(input, dice);
        break;
      case 7:
        repeat_run(input, dice);
        break;
      case 8:
        cut(input, dice);
        break;
      case 9:
        splice(input, corpus[dice.below(corpus.size())], dice);
        break;
    }
  }
  if (input.size() > kMostBytes) input.resize(kMostBytes);
  return input;
}

// The input under trial, on disk.
class Witness {
 public:
  explicit Witness(std::string path)
      : path_(std::move(path)),
        descriptor_(::open(path_.c_str(), O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0644)) {
    if (descriptor_ >= 0) return;
    std::perror(path_.c_str());
    std::exit(2);
  }
  ~Witness() {
    ::close(descriptor_);
    ::unlink(path_.c_str());
  }
  Witness(const Witness&) = delete;
  Witness& operator=(const Witness&) = delete;
  // Overwritten rather than emptied first: some file systems answer that with a slow flush.
  void keep(const Input& input) const {
    const auto size = static_cast<ssize_t>(input.size());
    if (::pwrite(descriptor_, input.data(), input.size(), 0) != size || ::ftruncate(descriptor_, size) != 0)
      std::perror(path_.c_str());
  }

 private:
  std::string path_;
  int descriptor_;
};

void too_slow(int) {
  static constexpr std::string_view kText = "one input took more than 1 s of CPU time\n";
  [[maybe_unused]] const ssize_t written = ::write(STDERR_FILENO, kText.data(), kText.size());
  std::abort();
}

void try_input(const Input& input, const Witness& witness) {
  witness.keep(input);
  itimerval limit{{0, 0}, {kMostSeconds, 0}};
  ::setitimer(ITIMER_PROF, &limit, nullptr);
  LLVMFuzzerTestOneInput(input.data(), input.size());
  limit.it_value.tv_sec = 0;
  ::setitimer(ITIMER_PROF, &limit, nullptr);
}

Input read_input(const fs::path& path) {
  std::ifstream in(path, std::ios::binary);
  return Input(std::istreambuf_iterator<char>(in), {});
}

std::vector<Input> read_corpus(const std::vector<fs::path>& places) {
  std::vector<fs::path> files;
  for (const fs::path& place : places) {
    if (!fs::is_directory(place))
      files.push_back(place);
    else
      for (const auto& entry : fs::recursive_directory_iterator(place))
        if (entry.is_regular_file()) files.push_back(entry.path());
  }
  std::sort(files.begin(), files.end());  // the order of a folder is chance
  std::vector<Input> corpus;
  for (const fs::path& file : files) corpus.push_back(read_input(file));
  return corpus;
}

template <class T>
bool parse_number(const char* text, T& number) {
  const char* const end = text + std::strlen(text);
  return std::from_chars(text, end, number).ptr == end && text != end;
}

bool parse_options(int argc, char** argv, Options& options) {
  for (int i = 1; i < argc; ++i) {
    const std::string_view word = argv[i];
    const bool has_value = i + 1 < argc;
    if (word == "--seconds" && has_value) {
      if (!parse_number(argv[++i], options.seconds)) return false;
    } else if (word == "--runs" && has_value) {
      if (!parse_number(argv[++i], options.runs)) return false;
    } else if (word == "--seed" && has_value) {
      if (!parse_number(argv[++i], options.seed)) return false;
    } else if (word.starts_with("--")) {
      return false;
    } else {
      options.places.emplace_back(word);
    }
  }
  return !options.places.empty();
}

}  // namespace

int main(int argc, char** argv) {
  Options options;
  if (!parse_options(argc, argv, options)) {
    std::fprintf(stderr, "usage: %s CORPUS_FOLDER|FILE... [--seconds N | --runs N] [--seed N]\n", argv[0]);
    return 2;
  }
  const std::vector<Input> corpus = read_corpus(options.places);
  if (corpus.empty()) {
    std::fprintf(stderr, "%s: the corpus is empty\n", argv[0]);
    return 2;
  }
  ::signal(SIGPROF, too_slow);
  const std::string program = fs::path(argv[0]).filename().string();
  const Witness witness("crash-" + program + ".bin");
  for (const Input& input : corpus) try_input(input, witness);

  using Clock = std::chrono::steady_clock;
  const Clock::time_point start = Clock::now();
  const auto elapsed = [&] { return std::chrono::duration<double>(Clock::now() - start).count(); };
  Dice dice(options.seed);
  int64_t runs = 0;
  while (runs < options.runs || elapsed() < options.seconds) {
    try_input(mutate(corpus, dice), witness);
    ++runs;
  }
  std::printf("%s: %zu kept inputs and %lld mutations in %.1f s\n", program.c_str(), corpus.size(),
              static_cast<long long>(runs), elapsed());
  return 0;
}

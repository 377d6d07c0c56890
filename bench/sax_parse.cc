// What parsing costs: runs RapidJSON over a file through a buffer, event by event, and does nothing with the
// events but count them. The flags are those of the msprobe layout. bench_sax_parse FILE...
#include <rapidjson/filereadstream.h>
#include <rapidjson/reader.h>

#include <cstdint>
#include <cstdio>
#include <vector>

namespace {

constexpr size_t kBuffer = 1 << 16;
constexpr unsigned kFlags =
    rapidjson::kParseIterativeFlag | rapidjson::kParseNumbersAsStringsFlag | rapidjson::kParseNanAndInfFlag;

struct Counter : rapidjson::BaseReaderHandler<rapidjson::UTF8<>, Counter> {
  int64_t events = 0;

  bool Default() {
    ++events;
    return true;
  }
};

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2) return 2;
  std::vector<char> buffer(kBuffer);
  Counter counter;
  for (int i = 1; i < argc; ++i) {
    std::FILE* const file = std::fopen(argv[i], "rb");
    if (file == nullptr) return 2;
    rapidjson::FileReadStream stream(file, buffer.data(), buffer.size());
    rapidjson::Reader reader;
    const bool failed = reader.Parse<kFlags>(stream, counter).IsError();
    std::fclose(file);
    if (failed) {
      std::fprintf(stderr, "%s: not JSON at byte %zu\n", argv[i], reader.GetErrorOffset());
      return 2;
    }
  }
  std::printf("%lld\n", static_cast<long long>(counter.events));
}

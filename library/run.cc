// What the program does, for callers.
#include "cli/program.h"
#include "library/guarded.h"
#include "library/told_caller.h"
#include "library/words.h"

#include <new>

namespace assay::library {
namespace {

constexpr int kTrouble = 2;

int run(std::vector<std::string> arguments, assay_sink sink, void* user) {
  int code = kTrouble;
  guarded([&] {
    arguments.insert(arguments.begin(), "assay");
    ToldCaller caller(sink, user);
    const CallerScope scope(&caller);
    try {
      const Result<int> ended = cli::run_program(arguments);
      if (!ended) return refuse(ended.error());
      code = *ended;
      return ASSAY_OK;
    } catch (const std::bad_alloc&) {
      return refuse(ASSAY_FAILED, "out of memory; pass --threads 1 or a smaller --memory");
    }
  });
  return code;
}

}  // namespace
}  // namespace assay::library

using namespace assay::library;

int assay_run(int count, const char* const* arguments, assay_sink sink, void* user) {
  int code = kTrouble;
  guarded([&] {
    auto words = words_of(count, arguments);
    if (!words) return refuse(words.error());
    code = run(std::move(*words), sink, user);
    return ASSAY_OK;
  });
  return code;
}

int assay_compare(const char* mine, const char* golden, int count, const char* const* flags, assay_sink sink,
                  void* user) {
  int code = kTrouble;
  guarded([&] {
    if (mine == nullptr || golden == nullptr) return refuse(ASSAY_BAD_ARGUMENT, "a null pointer");
    auto words = words_of(count, flags);
    if (!words) return refuse(words.error());
    words->insert(words->begin(), "compare");
    words->insert(words->end(), {"--", mine, golden});
    code = run(std::move(*words), sink, user);
    return ASSAY_OK;
  });
  return code;
}

// What the program does, for callers.
#include "assay/format/held_files.h"
#include "cli/program.h"
#include "library/given_tensor.h"
#include "library/guarded.h"
#include "library/told_caller.h"
#include "library/words.h"

#include <map>
#include <mutex>
#include <new>
#include <set>

namespace assay::library {
namespace {

constexpr int kTrouble = 2;

// Those that go on now, so that another thread can end them.
class Running {
 public:
  Running(ToldCaller& caller, const void* user) {
    const std::lock_guard lock(all().guard);
    place_ = all().runs.emplace(user, &caller);
  }
  ~Running() {
    const std::lock_guard lock(all().guard);
    all().runs.erase(place_);
  }
  Running(const Running&) = delete;
  Running& operator=(const Running&) = delete;

  static int cancel(const void* user) {
    const std::lock_guard lock(all().guard);
    const auto [first, last] = all().runs.equal_range(user);
    for (auto each = first; each != last; ++each) each->second->cancel();
    return static_cast<int>(std::distance(first, last));
  }

 private:
  struct All {
    std::mutex guard;
    std::multimap<const void*, ToldCaller*> runs;
  };
  static All& all() {
    static auto* const kept = new All;  // outlives every run
    return *kept;
  }
  std::multimap<const void*, ToldCaller*>::iterator place_;
};

int run(std::vector<std::string> arguments, assay_sink sink, void* user,
        std::shared_ptr<const HeldFiles> held = {}) {
  int code = kTrouble;
  guarded([&] {
    arguments.insert(arguments.begin(), "assay");
    ToldCaller caller(sink, user);
    const CallerScope scope(&caller);
    const Running running(caller, user);
    of_caller<HandedOver>().files = std::move(held);
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

// What the paths of the two sides are called.
constexpr const char *kMine = "mine", *kGolden = "golden";

Result<TensorSet> set_of(const assay_tensors& side, std::string_view what) {
  if (side.count < 0 || (side.count > 0 && side.tensors == nullptr))
    return fail(ErrorKind::bad_argument, "{}: {} tensors, and {}", what, side.count,
                side.tensors == nullptr ? "a null pointer" : "a list");
  if (side.names == nullptr && side.count > 1)
    return fail(ErrorKind::bad_argument, "{}: {} tensors without names", what, side.count);
  TensorSet set;
  std::set<std::string_view> taken;
  for (int64_t i = 0; i < side.count; ++i) {
    const char* const name = side.names == nullptr ? "" : side.names[i];
    if (name == nullptr || (*name == '\0' && side.count > 1) || !taken.insert(name).second)
      return fail(ErrorKind::bad_argument, "{}: tensor {} has no name of its own", what, i + 1);
    auto data = operand_of(side.tensors[i]);
    if (!data)
      return fail(data.error().kind, "{}: tensor {} '{}': {}", what, i + 1, printable(name),
                  data.error().message);
    set.tensors.push_back({name, std::move(*data), std::nullopt, std::nullopt, {}});
  }
  return set;
}

}  // namespace
}  // namespace assay::library

using namespace assay::library;

int assay_cancel(const void* user) {
  int count = 0;
  guarded([&] {
    count = Running::cancel(user);
    return ASSAY_OK;
  });
  return count;
}

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

int assay_compare_tensors(const assay_tensors* mine, const assay_tensors* golden, int count,
                          const char* const* flags, assay_sink sink, void* user) {
  int code = kTrouble;
  guarded([&] {
    if (mine == nullptr || golden == nullptr) return refuse(ASSAY_BAD_ARGUMENT, "a null pointer");
    auto words = words_of(count, flags);
    if (!words) return refuse(words.error());
    const auto held = std::make_shared<assay::HeldFiles>();
    for (const auto& [side, what] : {std::pair{mine, kMine}, std::pair{golden, kGolden}}) {
      auto set = set_of(*side, what);
      if (!set) return refuse(set.error());
      held->by_path.emplace(what, std::move(*set));
    }
    words->insert(words->begin(), "compare");
    words->insert(words->end(), {"--", kMine, kGolden});
    code = run(std::move(*words), sink, user, held);
    return ASSAY_OK;
  });
  return code;
}

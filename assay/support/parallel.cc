#include "assay/support/parallel.h"

#include "assay/base/caller.h"

#include <tbb/global_control.h>
#include <tbb/info.h>
#include <tbb/parallel_for.h>
#include <tbb/parallel_invoke.h>
#include <tbb/parallel_pipeline.h>
#include <tbb/task_arena.h>
#include <tbb/version.h>
#ifdef ASSAY_TSAN
#include <sanitizer/tsan_interface.h>
#endif

#include <mutex>
#include <optional>
#include <string>
#include <unordered_set>

namespace assay {
namespace {

// Debian's oneTBB is built without ThreadSanitizer, which does not see it order what threads do: all that one
// hands to another would be a race. This file is not watched itself (CMakeLists.txt), and says what oneTBB
// promises: what was done before give() is done when another thread comes out of take(). No more than that,
// or real races would be hidden with the others.
#ifdef ASSAY_TSAN
void give(void* place) { __tsan_release(place); }
void take(void* place) { __tsan_acquire(place); }
}  // namespace
}  // namespace assay
// Memory that oneTBB allocates, compares and frees among its own threads is its own affair.
extern "C" __attribute__((visibility("default"))) const char* __tsan_default_suppressions() {
  return "called_from_lib:libtbb.so.12\n";
}
namespace assay {
namespace {
#else
void give(void*) {}
void take(void*) {}
#endif

class Handover {
 public:
  void give() { assay::give(&place_); }
  void take() { assay::take(&place_); }

 private:
  char place_ = 0;
};

// Whether the work ends or throws.
template <class Act>
struct AtEnd {
  explicit AtEnd(Act at_end) : act(at_end) {}
  ~AtEnd() { act(); }
  AtEnd(const AtEnd&) = delete;
  AtEnd& operator=(const AtEnd&) = delete;
  const Act act;
};

// From the thread that asks for work to those that do it, and back when it is done. They do it for the same
// caller.
class Errand {
 public:
  template <class Start>
  void send(const Start& start) {
    there_.give();
    const AtEnd done([this] { back_.take(); });
    start();
  }
  template <class Work>
  void run(const Work& work) {
    there_.take();
    const AtEnd done([this] { back_.give(); });
    const CallerScope on_behalf(caller_);
    work();
  }

 private:
  Caller* const caller_ = current_caller();
  Handover there_, back_;
};

// Where the work of this thread goes: into an arena with a limit that it has not entered yet. Null: where it
// is.
thread_local tbb::task_arena* limited = nullptr;

template <class Work>
void within_limit(const Work& work) {
  tbb::task_arena* const arena = std::exchange(limited, nullptr);
  if (arena == nullptr) return work();
  const AtEnd back([&] { limited = arena; });
  arena->execute(work);
}

template <class Work>
void start(WhileWaiting waiting, const Work& work) {
  within_limit([&] {
    if (waiting == WhileWaiting::stands)
      tbb::this_task_arena::isolate(work);
    else
      work();
  });
}

tbb::filter_mode mode_of(StageOrder order) {
  return order == StageOrder::kept ? tbb::filter_mode::serial_in_order : tbb::filter_mode::parallel;
}

// Stages of oneTBB, which may move from thread to thread between any two packets. Where a stage throws,
// oneTBB loses packets that wait between stages; so those under way are listed here, and dropped with this.
class Stages {
 public:
  Stages(const PacketSource& source, const std::vector<PacketStage>& stages)
      : source_(source), stages_(stages), one_by_one_(stages.size()) {}
  ~Stages() {
    for (void* const packet : under_way_) {
      take(packet);
      source_.drop(packet);
    }
  }
  Stages(const Stages&) = delete;
  Stages& operator=(const Stages&) = delete;

  void run(size_t packets) {
    tbb::filter<void, void*> all = tbb::make_filter<void, void*>(
        tbb::filter_mode::serial_in_order, [this](tbb::flow_control& control) { return make(control); });
    for (size_t i = 0; i + 1 < stages_.size(); ++i)
      all = all & tbb::make_filter<void*, void*>(mode_of(stages_[i].order), [this, i](void* packet) {
              pass(i, packet);
              return packet;
            });
    const auto last = tbb::make_filter<void*, void>(mode_of(stages_.back().order), [this](void* packet) {
      pass(stages_.size() - 1, packet);
      finish(packet);
    });
    errand_.send([&] { tbb::parallel_pipeline(packets, all & last); });
  }

 private:
  void* make(tbb::flow_control& control) {
    void* packet = nullptr;
    errand_.run([&] {
      making_.take();
      packet = source_.next();
      making_.give();
      if (packet == nullptr) return;
      const std::scoped_lock lock(guard_);
      under_way_.insert(packet);
    });
    if (packet == nullptr) {
      control.stop();
      return nullptr;
    }
    give(packet);
    return packet;
  }

  void pass(size_t stage, void* packet) {
    const bool in_order = stages_[stage].order == StageOrder::kept;
    errand_.run([&] {
      take(packet);
      if (in_order) one_by_one_[stage].take();
      const AtEnd done([&] {
        if (in_order) one_by_one_[stage].give();
        give(packet);
      });
      stages_[stage].work(packet);
    });
  }

  void finish(void* packet) {
    errand_.run([&] {  // the lock ends before this does, too
      {
        const std::scoped_lock lock(guard_);
        under_way_.erase(packet);
      }
      take(packet);
      source_.drop(packet);
    });
  }

  const PacketSource& source_;
  const std::vector<PacketStage>& stages_;
  Errand errand_;
  Handover making_;
  std::vector<Handover> one_by_one_;  // of stages that keep the order: from packet to packet
  std::mutex guard_;
  std::unordered_set<void*> under_way_;
};

}  // namespace

// An arena of its own limits the work of one run and of no other. More threads than the machine runs at a
// time are made only where that is asked for; oneTBB knows but one number for that, the smallest that anybody
// asks for, and this is never less than what it has by itself.
struct ThreadLimit::Control {
  explicit Control(size_t threads)
      : arena(static_cast<int>(threads)), before(std::exchange(limited, &arena)) {
    if (threads > static_cast<size_t>(tbb::info::default_concurrency()))
      more.emplace(tbb::global_control::max_allowed_parallelism, threads);
  }
  ~Control() { limited = before; }
  Control(const Control&) = delete;
  Control& operator=(const Control&) = delete;

  std::optional<tbb::global_control> more;
  tbb::task_arena arena;
  tbb::task_arena* const before;
};

ThreadLimit::ThreadLimit(size_t threads) : control_(std::make_unique<Control>(threads)) {}
ThreadLimit::~ThreadLimit() = default;

size_t threads_at_work() {
  return static_cast<size_t>(limited != nullptr ? limited->max_concurrency()
                                                : tbb::this_task_arena::max_concurrency());
}

void parallel_for(size_t count, const std::function<void(size_t)>& work, WhileWaiting waiting) {
  Errand errand;
  start(waiting, [&] {
    errand.send(
        [&] { tbb::parallel_for(size_t{0}, count, [&](size_t i) { errand.run([&] { work(i); }); }); });
  });
}

void parallel_invoke(const std::function<void()>& first, const std::function<void()>& second) {
  Errand errand;
  start(WhileWaiting::helps, [&] {
    errand.send([&] { tbb::parallel_invoke([&] { errand.run(first); }, [&] { errand.run(second); }); });
  });
}

void run_stages(const PacketSource& source, const std::vector<PacketStage>& stages, WhileWaiting waiting,
                size_t packets) {
  start(waiting, [&] { Stages(source, stages).run(packets); });
}

std::string_view threading_library() {
  static const std::string name = std::string("oneTBB ") + TBB_runtime_version();
  return name;
}

}  // namespace assay

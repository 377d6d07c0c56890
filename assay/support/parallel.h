// Work on several threads. oneTBB does it, and parallel.cc alone knows of it: threads meet nowhere else, so
// that is also where ThreadSanitizer is told what was handed from one to another.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <string_view>
#include <thread>
#include <unordered_map>
#include <utility>
#include <vector>

namespace assay {

// While it lives, no more threads than these do what the thread that made it asks for, that one among them.
// Others are not limited.
class ThreadLimit {
 public:
  explicit ThreadLimit(size_t threads);
  ~ThreadLimit();
  ThreadLimit(const ThreadLimit&) = delete;
  ThreadLimit& operator=(const ThreadLimit&) = delete;

 private:
  struct Control;
  std::unique_ptr<Control> control_;
};

size_t threads_at_work();  // that may be, as things stand

enum class WhileWaiting : uint8_t {
  helps,   // a thread that has nothing to do here may take on other work
  stands,  // … must not: it would hold the buffers of both
};

// work(0) … work(count - 1), several at a time and in any order.
void parallel_for(size_t count, const std::function<void(size_t)>& work,
                  WhileWaiting waiting = WhileWaiting::helps);
// Both, at the same time.
void parallel_invoke(const std::function<void()>& first, const std::function<void()>& second);

// One T for each thread that asks: what it uses again from packet to packet.
template <class T>
class PerThread {
 public:
  explicit PerThread(std::function<T()> make = [] { return T(); }) : make_(std::move(make)) {}

  T& local() {
    const std::scoped_lock lock(mutex_);
    std::unique_ptr<T>& own = all_[std::this_thread::get_id()];
    if (own == nullptr) own = std::make_unique<T>(make_());
    return *own;
  }

 private:
  const std::function<T()> make_;
  std::mutex mutex_;
  std::unordered_map<std::thread::id, std::unique_ptr<T>> all_;
};

enum class StageOrder : uint8_t {
  any,   // several packets at a time, as they come
  kept,  // one at a time, as they were made
};

// Packets of any type, for Pipeline.
struct PacketStage {
  StageOrder order;
  std::function<void(void*)> work;
};
struct PacketSource {
  std::function<void*()> next;  // null: there are no more
  void (*drop)(void*);
};
// packets: at a time, at most.
void run_stages(const PacketSource& source, const std::vector<PacketStage>& stages, WhileWaiting waiting,
                size_t packets);

// Packets that pass through stages one after another, two for each thread at a time unless asked otherwise.
//
//   Pipeline<Batch>(next_batch).then(StageOrder::any, measure).then(StageOrder::kept, write).run();
template <class Packet>
class Pipeline {
 public:
  // `next` makes the packets, one at a time; null: there are no more.
  explicit Pipeline(std::function<std::unique_ptr<Packet>()> next)
      : source_{[next = std::move(next)]() -> void* { return next().release(); },
                [](void* packet) { delete static_cast<Packet*>(packet); }} {}

  Pipeline& then(StageOrder order, std::function<void(Packet&)> work) {
    stages_.push_back(
        {order, [work = std::move(work)](void* packet) { work(*static_cast<Packet*>(packet)); }});
    return *this;
  }

  // Until the last packet has left the last stage.
  void run(WhileWaiting waiting = WhileWaiting::helps, size_t packets = 2 * threads_at_work()) const {
    run_stages(source_, stages_, waiting, packets);
  }

 private:
  const PacketSource source_;
  std::vector<PacketStage> stages_;
};

std::string_view threading_library();  // "oneTBB 2021.8.0"

}  // namespace assay

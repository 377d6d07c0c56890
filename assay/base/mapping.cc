#include "assay/base/mapping.h"

#include "assay/base/caller.h"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <csignal>
#include <mutex>

#ifndef MADV_POPULATE_READ
#define MADV_POPULATE_READ 22  // Linux 5.14; older C libraries do not name it
#endif

namespace assay {
namespace {

constexpr int64_t kPage = 4096;
constexpr int64_t kWindow = int64_t{8} << 20;  // dropping one interrupts the other cores, so not too small

// Read by the signal handler, hence without locks. A slot is free while `end` is 0.
struct Slot {
  std::atomic<uintptr_t> begin{0}, end{0};
  std::atomic<bool> broken{false};
};
std::array<Slot, 1024> slots;
std::atomic<int64_t> lost{0};
static_assert(std::atomic<uintptr_t>::is_always_lock_free && std::atomic<int64_t>::is_always_lock_free);

extern "C" void on_bus_error(int signal, siginfo_t* details, void*) {
  const auto address = reinterpret_cast<uintptr_t>(details->si_addr);
  for (Slot& slot : slots) {
    if (address < slot.begin.load() || address >= slot.end.load()) continue;
    void* const page = reinterpret_cast<void*>(address / kPage * kPage);
    if (::mmap(page, kPage, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) == MAP_FAILED) break;
    slot.broken.store(true);
    lost.fetch_add(1);
    return;
  }
  std::signal(signal, SIG_DFL);  // not ours: let it end the program as it would have
}

void install_handler() {
  static std::once_flag once;
  std::call_once(once, [] {
    struct sigaction action {};
    action.sa_sigaction = on_bus_error;
    action.sa_flags = SA_SIGINFO;
    ::sigaction(SIGBUS, &action, nullptr);
  });
}

std::optional<size_t> take_slot(uintptr_t begin, uintptr_t end) {
  static std::mutex taking;
  const std::lock_guard lock(taking);
  for (size_t i = 0; i < slots.size(); ++i) {
    if (slots[i].end.load() != 0) continue;
    slots[i].broken.store(false);
    slots[i].begin.store(begin);
    slots[i].end.store(end);
    return i;
  }
  return std::nullopt;
}

}  // namespace

std::unique_ptr<Mapping> Mapping::make(int descriptor, int64_t size) {
  if (size <= 0 || ::sysconf(_SC_PAGESIZE) != kPage) return nullptr;
  if (current_caller() != nullptr) return nullptr;  // the signals of a process are its own
  install_handler();
  void* const at = ::mmap(nullptr, static_cast<size_t>(size), PROT_READ, MAP_SHARED, descriptor, 0);
  if (at == MAP_FAILED) return nullptr;
  const auto begin = reinterpret_cast<uintptr_t>(at);
  const auto slot = take_slot(begin, begin + static_cast<uintptr_t>((size + kPage - 1) / kPage * kPage));
  if (!slot) {
    ::munmap(at, static_cast<size_t>(size));
    return nullptr;
  }
  return std::unique_ptr<Mapping>(new Mapping(static_cast<const std::byte*>(at), size, *slot));
}

Mapping::~Mapping() {
  ::munmap(const_cast<std::byte*>(data_), static_cast<size_t>(size_));
  slots[slot_].end.store(0);
}

bool Mapping::broken() const { return slots[slot_].broken.load(std::memory_order_relaxed); }

void Mapping::note_loss() const {
  slots[slot_].broken.store(true);
  lost.fetch_add(1);
}

int64_t lost_pages() { return lost.load(); }

std::optional<Bytes> MappedWindow::view(int64_t offset, int64_t length) {
  const Mapping* const mapping = file_->mapping();
  if (mapping == nullptr || mapping->broken() || offset + length > mapping->size()) return std::nullopt;
  const int64_t first = offset / kPage * kPage;
  const int64_t last = (offset + length + kPage - 1) / kPage * kPage;
  if (first < begin_ || last > end_) {
    drop();
    const int64_t end_of_file = (mapping->size() + kPage - 1) / kPage * kPage;
    const int64_t until = std::min(std::max(last, first + kWindow), end_of_file);
    void* const at = const_cast<std::byte*>(mapping->data()) + first;
    if (::madvise(at, static_cast<size_t>(until - first), MADV_POPULATE_READ) != 0) return std::nullopt;
    begin_ = first;
    end_ = until;
  }
  viewed_end_ = std::max(viewed_end_, offset + length);
  return Bytes(mapping->data() + offset, static_cast<size_t>(length));
}

void MappedWindow::drop() {
  if (end_ <= begin_) return;
  // Behind the end of a file that shrank, the rest of its last page reads as zeros without a signal.
  if (file_->current_size() < viewed_end_) file_->mapping()->note_loss();
  ::madvise(const_cast<std::byte*>(file_->mapping()->data()) + begin_, static_cast<size_t>(end_ - begin_),
            MADV_DONTNEED);
  begin_ = end_ = viewed_end_ = 0;
}

}  // namespace assay

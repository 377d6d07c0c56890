#include "assay/support/progress.h"

#include "assay/base/caller.h"
#include "assay/base/console.h"

#include <algorithm>

namespace assay {
namespace {

constexpr int64_t kFirstDraw = 1'000'000'000;  // nanoseconds: short work shows nothing
constexpr int64_t kBetween = 100'000'000;
constexpr int kBarWidth = 24;

}  // namespace

Progress::Progress(std::string what, int64_t total, bool wanted)
    : what_(std::move(what)),
      total_(total),
      caller_(current_caller()),
      shown_(caller_ != nullptr || (wanted && console::is_terminal(console::Stream::err))),
      start_(Clock::now()),
      next_draw_(caller_ != nullptr ? kBetween : kFirstDraw) {}

Progress::~Progress() {
  if (drawn_) console::redraw_line("");
}

void Progress::done(int64_t units) {
  const int64_t now_units = units_.fetch_add(units, std::memory_order_relaxed) + units;
  if (!shown_) return;
  const int64_t elapsed = std::chrono::duration_cast<std::chrono::nanoseconds>(Clock::now() - start_).count();
  int64_t due = next_draw_.load(std::memory_order_relaxed);
  if (elapsed >= due && next_draw_.compare_exchange_strong(due, elapsed + kBetween)) draw(now_units);
}

void Progress::draw(int64_t units) {
  const std::lock_guard lock(drawing_);
  if (caller_ != nullptr) return caller_->note_progress(what_, units, total_);
  drawn_ = true;
  if (total_ <= 0) {
    console::redraw_line(fmt::format("{}: {}", what_, units));
    return;
  }
  const double share = std::clamp(static_cast<double>(units) / static_cast<double>(total_), 0.0, 1.0);
  const double seconds = std::chrono::duration<double>(Clock::now() - start_).count();
  const int filled = static_cast<int>(share * kBarWidth);
  console::redraw_line(fmt::format("{} [{}{}] {:3.0f}%  {:.0f} s left", what_,
                                   std::string(static_cast<size_t>(filled), '#'),
                                   std::string(static_cast<size_t>(kBarWidth - filled), '.'), share * 100,
                                   share > 0 ? seconds * (1 - share) / share : 0.0));
}

}  // namespace assay

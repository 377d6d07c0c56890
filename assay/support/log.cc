#include "assay/support/log.h"

#include "assay/base/caller.h"
#include "assay/base/console.h"
#include "assay/base/result.h"
#include "assay/support/log_tap.h"

#include <atomic>
#include <mutex>
#include <utility>

namespace assay::log {
namespace {

struct Settings {
  std::atomic<Level> lowest_level{Level::warn};
  std::mutex guard;
  Writer writer, tap;
};

}  // namespace

void set_level(Level lowest) { of_caller<Settings>().lowest_level = lowest; }

void set_writer(Writer writer) {
  auto& settings = of_caller<Settings>();
  const std::lock_guard lock(settings.guard);
  settings.writer = std::move(writer);
}

void set_tap(Writer tap) {
  auto& settings = of_caller<Settings>();
  const std::lock_guard lock(settings.guard);
  settings.tap = std::move(tap);
}

void write(Level level, std::string_view text) {
  auto& settings = of_caller<Settings>();
  if (level < settings.lowest_level) return;
  {
    const std::lock_guard lock(settings.guard);
    if (settings.tap) return settings.tap(level, text);
    if (settings.writer) return settings.writer(level, text);
  }
  static_cast<void>(console::write_message(fmt::format("assay: {}{}", level == Level::warn ? "warning: " : "",
                                                       fit_for_a_message(std::string(text)))));
}

}  // namespace assay::log

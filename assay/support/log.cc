#include "assay/support/log.h"

#include "assay/base/console.h"
#include "assay/base/result.h"

#include <atomic>
#include <mutex>
#include <utility>

namespace assay::log {
namespace {

std::atomic<Level> lowest_level{Level::warn};

struct Foreign {
  std::mutex guard;
  Writer writer;
};
Foreign& foreign() {
  static Foreign instance;
  return instance;
}

}  // namespace

void set_level(Level lowest) { lowest_level = lowest; }

void set_writer(Writer writer) {
  const std::lock_guard lock(foreign().guard);
  foreign().writer = std::move(writer);
}

void write(Level level, std::string_view text) {
  if (level < lowest_level) return;
  {
    const std::lock_guard lock(foreign().guard);
    if (foreign().writer) return foreign().writer(level, text);
  }
  static_cast<void>(console::write_message(fmt::format("assay: {}{}", level == Level::warn ? "warning: " : "",
                                                       fit_for_a_message(std::string(text)))));
}

}  // namespace assay::log

#include "assay/support/log.h"

#include <spdlog/sinks/stdout_sinks.h>
#include <spdlog/spdlog.h>

#include <mutex>
#include <utility>

namespace assay::log {
namespace {

spdlog::logger& logger() {
  static const auto instance = [] {
    auto made = std::make_shared<spdlog::logger>("assay", std::make_shared<spdlog::sinks::stderr_sink_mt>());
    made->set_pattern("assay: %v");
    made->set_level(spdlog::level::warn);
    return made;
  }();
  return *instance;
}

spdlog::level::level_enum to_spdlog(Level level) {
  switch (level) {
    case Level::debug:
      return spdlog::level::debug;
    case Level::info:
      return spdlog::level::info;
    case Level::warn:
      return spdlog::level::warn;
    case Level::error:
      return spdlog::level::err;
  }
  return spdlog::level::warn;
}

struct Foreign {
  std::mutex guard;
  Writer writer;
};
Foreign& foreign() {
  static Foreign instance;
  return instance;
}

}  // namespace

void set_level(Level lowest) { logger().set_level(to_spdlog(lowest)); }

void set_writer(Writer writer) {
  const std::lock_guard lock(foreign().guard);
  foreign().writer = std::move(writer);
}

void write(Level level, std::string_view text) {
  if (!logger().should_log(to_spdlog(level))) return;
  {
    const std::lock_guard lock(foreign().guard);
    if (foreign().writer) return foreign().writer(level, text);
  }
  if (level == Level::warn)
    logger().log(spdlog::level::warn, "warning: {}", text);
  else
    logger().log(to_spdlog(level), "{}", text);
}

}  // namespace assay::log

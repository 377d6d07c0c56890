#include "cli/msit/log.h"

#include "assay/base/clock.h"
#include "assay/base/console.h"
#include "cli/commands.h"
#include "cli/twins.h"

#include <fmt/format.h>

#include <unistd.h>

#include <array>
#include <chrono>
#include <cstdlib>

namespace assay::cli {
namespace {

// With milliseconds; a fixed clock (ASSAY_NOW) has none.
std::string time_of_line() {
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  const int64_t milliseconds = std::chrono::duration_cast<std::chrono::milliseconds>(now).count();
  if (std::getenv("ASSAY_NOW") == nullptr)
    return fmt::format("{},{:03}", local_time({milliseconds / 1000}), milliseconds % 1000);
  const auto fixed = read_clock();
  return fixed ? local_time(*fixed) + ",000" : "";
}

// The original also replaces the escapes that a URL would have for the same characters.
std::string without_control_characters(std::string_view text) {
  constexpr std::array<std::string_view, 6> kEscapes = {"%08", "%0a", "%0b", "%0c", "%0d", "%7f"};
  std::string out;
  for (size_t i = 0; i < text.size(); ++i) {
    bool is_escape = false;
    for (const std::string_view escape : kEscapes) is_escape |= text.substr(i).starts_with(escape);
    const bool is_control = static_cast<unsigned char>(text[i]) < 0x20 || text[i] == 0x7F;
    out += is_escape || is_control ? '_' : text[i];
    if (is_escape) i += 2;
  }
  return out;
}

void write_line(Tool tool, log::Level level, std::string_view text) {
  const std::string process = tool == Tool::msit ? fmt::format(" - {}", ::getpid()) : "";
  const std::string line =
      fmt::format("{}{} - {}_llm_logger - {} - {}", time_of_line(), process, cli::text(tool),
                  python_level(level), without_control_characters(text));
  static_cast<void>(console::write_line(console::Stream::err, line));
}

}  // namespace

std::string_view text(Tool tool) { return tool == Tool::msit ? "msit" : "ait"; }

void open_msit_log(Tool tool, std::string_view level) {
  log::set_writer([tool](log::Level of_line, std::string_view text) { write_line(tool, of_line, text); });
  log::set_level(level == "debug" || level == "notset"   ? log::Level::debug
                 : level == "info"                       ? log::Level::info
                 : level == "warning" || level == "warn" ? log::Level::warn
                                                         : log::Level::error);
  if (level == "fatal" || level == "critical") log::set_writer([](log::Level, std::string_view) {});
}

int end_msit(Tool tool, const Error& why) {
  write_line(tool, log::Level::error, why.message);
  return exit_code(why, 1);
}

}  // namespace assay::cli

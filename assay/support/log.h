// Messages to the operator, on stderr. Few lines, whole sentences.
#pragma once

#include <fmt/core.h>

#include <string_view>

namespace assay::log {

enum class Level { debug, info, warn };

void set_level(Level lowest);
void write(Level level, std::string_view text);

template <class... Args>
void debug(fmt::format_string<Args...> text, Args&&... args) {
  write(Level::debug, fmt::format(text, std::forward<Args>(args)...));
}
template <class... Args>
void info(fmt::format_string<Args...> text, Args&&... args) {
  write(Level::info, fmt::format(text, std::forward<Args>(args)...));
}
template <class... Args>
void warn(fmt::format_string<Args...> text, Args&&... args) {
  write(Level::warn, fmt::format(text, std::forward<Args>(args)...));
}

}  // namespace assay::log

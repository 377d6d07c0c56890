// Messages to the operator, on stderr. Few lines, whole sentences.
#pragma once

#include <fmt/core.h>

#include <functional>
#include <string_view>

namespace assay::log {

enum class Level { debug, info, warn, error };

void set_level(Level lowest);
void write(Level level, std::string_view text);

// Lines in the form of another tool, for commands that stand for it; they pass the level as well.
using Writer = std::function<void(Level level, std::string_view text)>;
void set_writer(Writer writer);

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

template <class... Args>
void error(fmt::format_string<Args...> text, Args&&... args) {
  write(Level::error, fmt::format(text, std::forward<Args>(args)...));
}

}  // namespace assay::log

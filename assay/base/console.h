// Where text leaves for a terminal. Nothing else writes to standard output or standard error
// (tests/tools/check_output.py sees to it), so that whatever a name, a path or a file holds, none of it
// steers the terminal: docs/reports.md, "Names". What is written for a caller (base/caller.h) goes to it, in
// the same words.
#pragma once

#include "assay/base/result.h"
#include "assay/base/text.h"

#include <fmt/format.h>

#include <string_view>
#include <type_traits>

namespace assay {

namespace detail {
template <class T>
decltype(auto) shown_argument(const T& argument) {
  if constexpr (std::is_convertible_v<const T&, std::string_view>)
    return printable(argument);
  else
    return (argument);
}
}  // namespace detail

// fmt::format() for people: the text is ours, the arguments are made printable, line breaks and all.
template <class... Args>
std::string format_shown(fmt::format_string<Args...> text, Args&&... args) {
  return fmt::format(fmt::runtime(fmt::string_view(text)), detail::shown_argument(args)...);
}

namespace console {

enum class Stream : uint8_t { out, err };

// An error that no caller asked about is not lost: flush() answers the first one of standard output. A reader
// that went away (a closed pipe) is ErrorKind::cancelled.
Result<void> write_line(Stream to, std::string_view text);  // printable, as one line
// To standard error: on one line, or broken into lines where someone looks at a terminal.
Result<void> write_message(std::string_view text);
enum class Colours : uint8_t { shown, kept };  // what sets a colour, and nothing else, may be kept
Result<void> write_text(Stream to, std::string_view text, Colours colours = Colours::shown);  // many lines
Result<void> write_report(
    std::string_view bytes);  // to standard output, as it is: its sink knows its escapes
Result<void> flush();

template <class... Args>
void print(Stream to, fmt::format_string<Args...> text, Args&&... args) {
  static_cast<void>(write_text(to, format_shown(text, std::forward<Args>(args)...)));
}
template <class... Args>
void print(fmt::format_string<Args...> text, Args&&... args) {
  print(Stream::out, text, std::forward<Args>(args)...);
}

// A line on standard error that the next one takes the place of; an empty one takes it away.
void redraw_line(std::string_view text);

// Whoever starts us may have closed them: a report must not become standard output by chance. Call first.
void hold_standard_streams();

bool is_terminal(Stream stream);
// It shows colours, and nobody asked for none: NO_COLOR (https://no-color.org), TERM=dumb.
bool takes_colours(Stream stream);
// Whether block characters can be read: yes, but where the locale says another encoding than UTF-8.
bool takes_unicode();
bool has_width();  // a terminal, or COLUMNS, says it
int width();       // columns of the terminal on standard output; COLUMNS, or 100 where there is none

}  // namespace console
}  // namespace assay

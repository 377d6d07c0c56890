#include "assay/base/console.h"

#include "assay/base/caller.h"
#include "assay/base/columns.h"
#include "assay/base/passed_on.h"
#include "assay/base/system_message.h"

#include <fcntl.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cctype>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <string>

namespace assay::console {
namespace {

// Of standard output.
struct FirstTrouble {
  std::atomic<int> error{0};
};

Result<void> answer(int error) {
  if (error == 0) return {};
  if (error == EPIPE) return fail(ErrorKind::cancelled, "standard output: nobody reads it any more");
  return fail(ErrorKind::io, "standard output: cannot be written: {}", system_message(error));
}

Result<void> trouble(int error) {
  int none = 0;
  of_caller<FirstTrouble>().error.compare_exchange_strong(none, error);
  return answer(error);
}

// Trouble with standard error can be told to nobody.
Result<void> put(Stream to, std::string_view bytes) {
  if (Caller* const caller = current_caller(); caller != nullptr) {
    to == Stream::err ? caller->write_message(bytes) : caller->write_output(bytes);
    return {};
  }
  if (to == Stream::err) {
    std::fflush(stdout);  // what was said before appears before
    std::fwrite(bytes.data(), 1, bytes.size(), stderr);
    return {};
  }
  if (std::fwrite(bytes.data(), 1, bytes.size(), stdout) == bytes.size()) return {};
  return trouble(errno);
}

// The length of "\x1b[1;31m" at the start of a text; 0 if it starts with something else.
size_t colour_length(std::string_view text) {
  if (!text.starts_with("\x1b[")) return 0;
  const size_t end = text.find_first_not_of("0123456789;", 2);
  return end != std::string_view::npos && text[end] == 'm' ? end + 1 : 0;
}

std::string cleaned(std::string_view text, Colours colours) {
  std::string out;
  while (!text.empty()) {
    const size_t end = text.find_first_of(colours == Colours::kept ? "\n\x1b" : "\n");
    out += printable(text.substr(0, end));
    if (end == std::string_view::npos) break;
    text.remove_prefix(end);
    const size_t kept = text[0] == '\n' ? 1 : colour_length(text);
    out += kept > 0 ? text.substr(0, kept) : std::string_view("\\x1b");
    text.remove_prefix(kept > 0 ? kept : 1);
  }
  return out;
}

// Whoever passes our words on may have made us a terminal of its own: end_at_no_terminal().
bool only_looks_like_terminal[] = {false, false};
bool is_passed_on(int stream) { return only_looks_like_terminal[stream == STDOUT_FILENO ? 0 : 1]; }

// Of a terminal, or as COLUMNS says.
std::optional<int> known_width(int stream) {
  if (current_caller() != nullptr) return std::nullopt;
  winsize size{};
  if (!is_passed_on(stream) && ::ioctl(stream, TIOCGWINSZ, &size) == 0 && size.ws_col > 0) return size.ws_col;
  const char* columns = std::getenv("COLUMNS");
  const auto number = columns == nullptr ? std::nullopt : parse_int(columns);
  if (!number || *number < 20 || *number > 1000) return std::nullopt;
  return static_cast<int>(*number);
}

}  // namespace

Result<void> write_line(Stream to, std::string_view text) { return put(to, printable(text) + '\n'); }

Result<void> write_message(std::string_view text) {
  const std::string shown = printable(text);
  const auto columns = known_width(STDERR_FILENO);
  return put(Stream::err, columns ? wrapped(shown, *columns, 0) : shown + '\n');
}

Result<void> write_text(Stream to, std::string_view text, Colours colours) {
  return put(to, cleaned(text, colours));
}

Result<void> write_report(std::string_view bytes) { return put(Stream::out, bytes); }

Result<void> flush() {
  if (current_caller() != nullptr) return {};
  if (std::fflush(stdout) != 0) return trouble(errno);
  return answer(of_caller<FirstTrouble>().error);
}

void redraw_line(std::string_view text) { static_cast<void>(put(Stream::err, "\r\x1b[K" + printable(text))); }

// Opened the wrong way round: whoever uses them finds out.
void hold_standard_streams() {
  for (const int stream : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO})
    if (::fcntl(stream, F_GETFD) < 0 && errno == EBADF)
      ::open("/dev/null", stream == STDIN_FILENO ? O_WRONLY : O_RDONLY);
}

void fall_silent() {
  const int nowhere = ::open("/dev/null", O_RDWR | O_CLOEXEC);
  for (const int stream : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) ::dup2(nowhere, stream);
}

void end_at_no_terminal(bool output, bool messages) {
  only_looks_like_terminal[0] = output;
  only_looks_like_terminal[1] = messages;
}

bool is_terminal(Stream stream) {
  const int descriptor = stream == Stream::out ? STDOUT_FILENO : STDERR_FILENO;
  return current_caller() == nullptr && !is_passed_on(descriptor) && ::isatty(descriptor) == 1;
}

bool takes_colours(Stream stream) {
  const char *const refused = std::getenv("NO_COLOR"), *const kind = std::getenv("TERM");
  const bool is_refused = refused != nullptr && *refused != '\0';
  return is_terminal(stream) && !is_refused && (kind == nullptr || std::string_view(kind) != "dumb");
}

bool takes_unicode() {
  for (const char* name : {"LC_ALL", "LC_CTYPE", "LANG"}) {  // the first that is set decides
    const char* const value = std::getenv(name);
    if (value == nullptr || *value == '\0') continue;
    std::string encoding(value);
    std::erase(encoding, '-');
    std::ranges::transform(encoding, encoding.begin(), [](unsigned char c) { return std::tolower(c); });
    return encoding.find("utf8") != std::string::npos;
  }
  return true;
}

bool has_width() { return known_width(STDOUT_FILENO).has_value(); }

int width() { return known_width(STDOUT_FILENO).value_or(100); }

}  // namespace assay::console

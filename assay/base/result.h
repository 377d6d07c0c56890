// Result<T>: a value, or the reason there is none. What the outside world can cause is returned, never
// thrown; what only a bug can cause aborts through ASSAY_CHECK (or ends the call of a caller: base/caller.h).
#pragma once

#include <fmt/core.h>

#include <string>
#include <tl/expected.hpp>
#include <utility>

namespace assay {

enum class ErrorKind {
  bad_argument,  // the command line or an option
  not_found,     // no such file, no such tensor
  io,            // the operating system refused: permission, full disk, read error
  bad_format,    // the bytes are not what they claim to be
  unsupported,   // well formed, but not something we compute with
  limit,         // would need more memory or depth than allowed
  mismatch,      // two things that should fit together do not
  not_compared,  // nothing of two dumps was compared, or too little to say anything
  cancelled,     // Ctrl-C
};

struct Error {
  ErrorKind kind = ErrorKind::bad_format;
  std::string message;  // one line; names the file and the reason
};

template <class T>
using Result = tl::expected<T, Error>;

// A file may put anything into a message that quotes it: of one that is longer than a screen the middle goes.
std::string fit_for_a_message(std::string text);

template <class... Args>
[[nodiscard]] tl::unexpected<Error> fail(ErrorKind kind, fmt::format_string<Args...> text, Args&&... args) {
  return tl::unexpected<Error>(
      Error{kind, fit_for_a_message(fmt::format(text, std::forward<Args>(args)...))});
}

[[noreturn]] void check_failed(const char* condition, const char* file, int line);

}  // namespace assay

#define ASSAY_CONCAT_(a, b) a##b
#define ASSAY_CONCAT(a, b) ASSAY_CONCAT_(a, b)

// ASSAY_TRY(const Header header, read_header(file)); returns the error from this function if there is one.
#define ASSAY_TRY(declaration, ...)                                                                    \
  auto ASSAY_CONCAT(assay_result_, __LINE__) = (__VA_ARGS__);                                          \
  if (!ASSAY_CONCAT(assay_result_, __LINE__))                                                          \
    return ::tl::unexpected<::assay::Error>(std::move(ASSAY_CONCAT(assay_result_, __LINE__).error())); \
  declaration = std::move(*ASSAY_CONCAT(assay_result_, __LINE__))

// The same for a Result<void>.
#define ASSAY_TRY_DO(...)                                 \
  if (auto assay_outcome = (__VA_ARGS__); !assay_outcome) \
  return ::tl::unexpected<::assay::Error>(std::move(assay_outcome.error()))

#define ASSAY_CHECK(condition) \
  ((condition) ? static_cast<void>(0) : ::assay::check_failed(#condition, __FILE__, __LINE__))

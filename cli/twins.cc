#include "cli/twins.h"

#include "assay/report/verdict_sentence.h"
#include "cli/commands.h"

namespace assay::cli {

Result<void> require_enough(const Summary& summary) {
  if (is_enough(summary)) return {};
  return fail(ErrorKind::not_compared, "{}", not_enough_sentence(summary).text());
}

int exit_code(const Error& error, int theirs) {
  return error.kind == ErrorKind::not_compared ? exit_code(Answer::not_compared) : theirs;
}

std::string_view python_level(log::Level level) {
  switch (level) {
    case log::Level::debug:
      return "DEBUG";
    case log::Level::info:
      return "INFO";
    case log::Level::warn:
      return "WARNING";
    case log::Level::error:
      return "ERROR";
  }
  return "INFO";
}

}  // namespace assay::cli

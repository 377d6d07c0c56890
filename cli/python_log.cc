#include "cli/python_log.h"

namespace assay::cli {

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

#include "cli/msit/flags.h"

#include "assay/base/text.h"
#include "assay/run/launch/dump_settings.h"

#include <fmt/format.h>

namespace assay::cli {

using Takes = ForeignFlag::Takes;

ForeignFlag msit_log_level_flag() {
  // warn and notset are words of older versions.
  return {{"--log-level", "-l"},
          Takes::one,
          "specify log level. (default: info)",
          false,
          {"debug", "info", "warning", "error", "fatal", "critical", "warn", "notset"}};
}

ForeignFlag trusted_flag() {
  return {{"--trusted"}, Takes::nothing, "no bound on what the files ask for", false, {}, true};
}

ForeignFlag algorithms_flag() {
  return {{"--custom-algorithms", "-alg"},
          Takes::several,
          "functions of yours in the form file.py:function, which are run: def f(golden, mine): return "
          "value, message"};
}

ForeignFlag required_path_flag(std::string_view name, std::string_view letters, std::string_view help) {
  return {{name, letters}, Takes::one, help, true};
}

Result<void> check_exists(const fs::path& path) {
  std::error_code ignored;
  if (fs::exists(path, ignored)) return {};
  return fail(ErrorKind::not_found, "The file path {} does not exist.", display(path));
}

Result<void> check_folder(const fs::path& path) {
  std::error_code ignored;
  if (fs::is_directory(path, ignored)) return {};
  return fail(ErrorKind::bad_argument, "The {} should be a directory!", display(path));
}

Result<void> check_output_folder(const fs::path& path) {
  std::error_code ignored;
  if (!fs::is_regular_file(path, ignored)) return {};
  return fail(ErrorKind::bad_argument, "The path {} should be a directory path, but got a file",
              display(path));
}

Result<void> check_csv(const fs::path& path) {
  ASSAY_TRY_DO(check_exists(path));
  std::error_code ignored;
  if (!fs::is_regular_file(path, ignored))
    return fail(ErrorKind::bad_argument, "The {} should be a file!", display(path));
  if (!path.native().ends_with(".csv"))
    return fail(ErrorKind::bad_argument, "The {} should be a .csv file!", display(path));
  return {};
}

std::optional<std::string> check_ids(const std::string& value) {
  if (value.find_first_of(" \t\n") != std::string::npos)
    return fmt::format("dym range string \"{}\" is not a legal string: it has blanks", printable(value));
  const auto ids = read_ids(value);
  return ids ? std::nullopt : std::optional(ids.error().message);
}

std::optional<std::string> check_name(const std::string& value) {
  constexpr std::string_view kOthers = "_\"'><=[])(,}{: /.~-";
  for (const char c : value)
    if (!(c >= 'A' && c <= 'Z') && !(c >= 'a' && c <= 'z') && !(c >= '0' && c <= '9') &&
        kOthers.find(c) == std::string_view::npos)
      return "String parameter contains invalid characters.";
  return std::nullopt;
}

std::optional<std::string> check_number(const std::string& value, int64_t least, int64_t most) {
  const auto number = parse_int(value);
  if (number && *number >= least && *number <= most) return std::nullopt;
  return fmt::format("{} is not a whole number from {} to {}", printable(value), least, most);
}

}  // namespace assay::cli

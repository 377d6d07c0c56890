#include "cli/msit/flags.h"

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

}  // namespace assay::cli

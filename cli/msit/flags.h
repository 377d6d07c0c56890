// What the commands of `msit llm` share: flags, and checks of paths with the words of the original.
#pragma once

#include "cli/argparse.h"
#include "cli/commands.h"
#include "cli/msit/log.h"

namespace assay::cli {

ForeignFlag msit_log_level_flag();
ForeignFlag trusted_flag();  // of ours
ForeignFlag algorithms_flag();
ForeignFlag required_path_flag(std::string_view name, std::string_view letters, std::string_view help);

// Checks of ForeignFlag.
std::optional<std::string> check_ids(const std::string& value);  // "24,3_1"
std::optional<std::string> check_name(
    const std::string& value);  // the characters that the original lets through
std::optional<std::string> check_number(const std::string& value, int64_t least, int64_t most);

Result<void> check_exists(const fs::path& path);
Result<void> check_folder(const fs::path& path);
Result<void> check_output_folder(const fs::path& path);  // need not be there, but must be no file
Result<void> check_csv(const fs::path& path);

}  // namespace assay::cli

// Help that fits a screen however many flags a command has: --help explains the everyday options and names
// the rest by their groups; --help-all explains those too.
#pragma once

#include <CLI/CLI.hpp>

namespace assay::cli {

// Flags stay everyday ones unless they are put into a group: `command.add_option(…)->group("Reading")`.
void use_grouped_help(CLI::App& command);

// --only and --skip: "tensors" by their "name", "files" by their "path".
void add_choice_flags(CLI::App& command, std::string_view what, std::string_view by,
                      std::vector<std::string>& only, std::vector<std::string>& skip);

}  // namespace assay::cli

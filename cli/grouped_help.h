// Help that fits a screen however many flags a command has: --help explains the everyday options and names
// the rest by their groups; --help-all explains those too.
#pragma once

#include <CLI/CLI.hpp>

namespace assay::cli {

// Flags stay everyday ones unless they are put into a group: `command.add_option(…)->group("Reading")`.
void use_grouped_help(CLI::App& command);

}  // namespace assay::cli

#include "assay/run/explain.h"

#include "assay/base/console.h"
#include "cli/commands.h"
#include "cli/grouped_help.h"

#include <CLI/CLI.hpp>

#include <memory>

namespace assay::cli {

void add_explain(CLI::App& app, Action& action) {
  struct ExplainFlags {
    std::string report, name;
  };
  const auto flags = std::make_shared<ExplainFlags>();
  CLI::App* const command = app.add_subcommand("explain", "Say why a row of a report was judged as it was");
  command->add_option("report", flags->report, "The .json that 'assay compare --report json' wrote")
      ->type_name("")
      ->required();
  command->add_option("name", flags->name, "A tensor of either side, or an operator")
      ->type_name("")
      ->required();
  use_grouped_help(*command);
  command->footer(
      "What its operator rounds by itself, the error and the gain of each input, what that allows, what was\n"
      "measured, and the chain of inherited error back to where it began (docs/rules.md).\n"
      "Exit code: 0, or 2 where there is no such report or row.\n"
      "Examples:\n"
      "  assay explain out/assay_report_20260102030405.json Functional.linear.7.forward.output.0");
  command->callback([flags, &action] {
    action = [flags]() -> Result<int> {
      ASSAY_TRY(const std::string text, explain(flags->report, flags->name));
      ASSAY_TRY_DO(console::write_text(console::Stream::out, text));
      return 0;
    };
  });
}

}  // namespace assay::cli

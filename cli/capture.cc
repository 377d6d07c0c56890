#include "assay/base/path_kind.h"
#include "assay/base/text.h"
#include "assay/run/launch/dump_settings.h"
#include "assay/run/launch/torch_capture.h"
#include "assay/support/log.h"
#include "cli/commands.h"
#include "cli/launch.h"

#include <CLI/CLI.hpp>

#include <memory>

namespace assay::cli {
namespace {

struct CaptureFlags {
  std::vector<std::string> modules;
  std::string steps, output = "assay_capture";
  bool functions = false, statistics = false;
};

Result<int> capture(const CaptureFlags& flags, const Context& context) {
  if (context.child.empty())
    return fail(
        ErrorKind::bad_argument,
        "the command to record is missing: it stands behind --, as in 'assay capture -- python train.py'");
  ASSAY_TRY_DO(check_may_start(context.child));
  TorchCaptureSettings settings;
  settings.output = flags.output;
  ASSAY_TRY(settings.modules, parse_patterns("--modules", flags.modules));
  if (!flags.steps.empty()) {
    ASSAY_TRY(settings.steps, read_steps(flags.steps));
  }
  settings.functions = flags.functions;
  settings.only_statistics = flags.statistics;
  ASSAY_TRY(const fs::path package, find_python_package());
  ASSAY_TRY_DO(check_holds_no_dump(settings.output));
  ASSAY_TRY_DO(check_output(settings.output));
  const int status = run_recorded(context.child, environment_of(settings, package));
  if (status != 126 && status != 127) say(text_of_torch_capture(settings.output));
  remove_notes_of_nothing(settings.output);
  return status;
}

Result<int> recover(const std::string& dump) {
  if (!is_there(dump)) return fail(ErrorKind::not_found, "{}: there is no such folder", display(dump));
  ASSAY_TRY(const fs::path package, find_python_package());
  return run_recorded({python_of_package(), (package / "_inject" / "recover.py").native(), dump}, {});
}

}  // namespace

void add_capture(CLI::App& app, const Context& context, Action& action) {
  const auto flags = std::make_shared<CaptureFlags>();
  CLI::App* const command = app.add_subcommand(
      "capture", "Run a program and record what PyTorch computes in it:\nassay capture -- COMMAND");
  command->add_option("--modules", flags->modules, "Only these modules: layers.0.* (default: all)")
      ->type_name("PATTERN,..")
      ->allow_extra_args(false);
  command->add_flag("--apis", flags->functions, "Functions of PyTorch, too");
  command->add_option("--steps", flags->steps, "Only these steps, from 0: 0-2,5 (default: all)")
      ->type_name("A-B,..");
  command->add_flag("--stats", flags->statistics, "Statistics, no data");
  command->add_option("--output", flags->output, "Folder for the dump (default: assay_capture)")
      ->type_name("DIR");
  command->footer(
      "The command is run as it stands, without a shell; its exit status is that of assay (127: there is\n"
      "no such program), and signals go to it. docs/scenarios/torch_capture.md\n"
      "Examples:\n"
      "  assay capture -- python train.py\n"
      "  assay capture --steps 0-2 --stats --output mine -- python train.py");
  command->callback(
      [flags, &context, &action] { action = [flags, &context] { return capture(*flags, context); }; });
}

void add_recover(CLI::App& app, const Context&, Action& action) {
  const auto dump = std::make_shared<std::string>();
  CLI::App* const command =
      app.add_subcommand("recover", "Make a dump of what a program recorded before it was killed");
  command->add_option("dump", *dump, "A dump of `assay capture`, or one step or rank of it")
      ->required()
      ->type_name("");
  command->footer(
      "Exit code: 0, or 2 if there was nothing to recover.\n"
      "Example:\n"
      "  assay recover assay_capture");
  command->callback([dump, &action] { action = [dump] { return recover(*dump); }; });
}

}  // namespace assay::cli

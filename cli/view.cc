// assay view: the page over a report or two dumps, served to a browser on this machine.
#include "assay/run/view/view.h"

#include "assay/base/path_kind.h"
#include "cli/commands.h"
#include "cli/grouped_help.h"

#include <CLI/CLI.hpp>

#include <memory>

namespace assay::cli {
namespace {

struct ViewFlags {
  std::string first, golden, memory;
  int port = 0, threads = 0;
  bool no_browser = false;
};

Result<int> run_view(const ViewFlags& flags, const Context& context) {
  ViewRequest request;
  CompareRequest& compare = request.compare;
  if (flags.golden.empty()) {
    if (!is_there(flags.first))
      return fail(ErrorKind::not_found, "{}: no such file or folder", display(flags.first));
    request.report = flags.first;
  } else {
    compare.mine = flags.first;
    compare.golden = flags.golden;
  }
  request.port = flags.port;
  request.opens_browser = !flags.no_browser;
  ASSAY_TRY_DO(limit_files(flags.memory, flags.threads, false, compare.open.format));
  std::vector<std::string> names = {"default"};
  ASSAY_TRY(const MetricPlan shown, plan_metrics(names));
  compare.shown_columns = shown.columns;
  const std::vector<std::string> needed = columns_needed(compare.rules);
  names.insert(names.end(), needed.begin(), needed.end());
  ASSAY_TRY(compare.metrics, plan_metrics(names));
  compare.open.within = true;
  compare.threads = flags.threads;
  compare.now = context.now;
  compare.version = kVersion;
  compare.command_line = context.command_line;
  request.pair_as = pair_as;
  ASSAY_TRY_DO(view(request));
  return 0;
}

}  // namespace

void add_view(CLI::App& app, const Context& context, Action& action) {
  const auto flags = std::make_shared<ViewFlags>();
  CLI::App* const command = app.add_subcommand("view", "Look at a report, or at two dumps, in a browser");
  command->add_option("report", flags->first, "A report (sqlite, html) or the folder that holds it; or mine")
      ->required()
      ->type_name("");
  command->add_option("golden", flags->golden, "The trusted dump, where the first is the suspect one")
      ->type_name("");
  command->add_option("--port", flags->port, "Of 127.0.0.1 (default: any that is free)")
      ->type_name("N")
      ->check(CLI::Range(0, 65535).description(""));
  command->add_flag("--no-browser", flags->no_browser, "Only print the address");
  command->add_option("--memory", flags->memory, "For what must be held (default: RAM/4, max 8GiB)")
      ->type_name("SIZE")
      ->group("Running");
  command->add_option("--threads", flags->threads, "Threads (default 0: all cores)")
      ->type_name("N")
      ->check(CLI::Range(0, 4096).description(""))
      ->group("Running");
  use_grouped_help(*command);
  command->footer(
      "Nobody but you can read the page: it is served to this machine alone, under an address with a "
      "secret.\n"
      "Ends with Ctrl-C.\n"
      "Examples:\n"
      "  assay compare npu/ gpu/ --report sqlite --output out && assay view out\n"
      "  assay view npu/ gpu/");
  command->callback(
      [&action, &context, flags] { action = [&context, flags] { return run_view(*flags, context); }; });
}

}  // namespace assay::cli

// assay demo: shows on a small example what a comparison looks like.
#include "assay/run/demo/demo.h"

#include "assay/base/console.h"
#include "assay/run/demo/demo_model.h"
#include "cli/commands.h"

#include <CLI/CLI.hpp>

#include <fmt/format.h>

#include <memory>

namespace assay::cli {
namespace {

Result<int> demo(const fs::path& wanted, const Context& context) {
  ASSAY_TRY(const fs::path folder, make_demo_folder(wanted));
  ASSAY_TRY(const DemoDumps dumps, write_demo_dumps(folder));
  const std::string mine = display(dumps.mine), golden = display(dumps.golden);
  console::print("A small transformer ran twice: {} has its {} operator outputs in f32, {} in bf16.\n",
                 golden, dumps.tensors, mine);
  console::print("One fault was planted in the bf16 run: {} computes GELU instead of SiLU.\n", kDemoFault);
  console::print("Comparing them, as 'assay compare {} {}' would:\n\n", mine, golden);
  ASSAY_TRY_DO(console::flush());

  DemoRequest request;
  request.dumps = dumps;
  request.reports = folder / "report";
  request.now = context.now;
  request.version = kVersion;
  request.command_line = context.command_line;
  request.terminal_width = console::width();
  request.colour = console::takes_colours(console::Stream::out);
  ASSAY_TRY(const CompareOutcome outcome, compare_demo_dumps(request));
  if (!found_planted_fault(outcome.summary, dumps))
    return fail(ErrorKind::mismatch, "the demo did not find the planted fault {} first", kDemoFault);
  console::print(
      "\nThe first divergence is the planted fault. The rows behind it inherit its error; those before it "
      "differ by rounding only.\n");
  for (const fs::path& file : outcome.files)
    if (file.extension() == ".html")
      console::print("\nSee where the two runs part: open this page in a browser\n{}\n",
                     display(fs::absolute(file)));
  return 0;
}

}  // namespace

void add_demo(CLI::App& app, const Context& context, Action& action) {
  CLI::App* command =
      app.add_subcommand("demo", "Compare two small dumps made on the spot, one with a planted fault");
  const auto folder = std::make_shared<std::string>("assay_demo");
  command->add_option("--output", *folder, "Folder (default: assay_demo; numbered if it exists)")
      ->type_name("DIR");
  command->footer(
      "Exit code: 0 if the planted fault was found, 2 otherwise.\n"
      "Examples:\n"
      "  assay demo\n"
      "  assay demo --output /tmp/demo");
  command->callback(
      [&action, &context, folder] { action = [&context, folder] { return demo(*folder, context); }; });
}

}  // namespace assay::cli

#include "assay/run/topology.h"

#include "assay/base/console.h"
#include "assay/base/path_kind.h"
#include "assay/base/shell_word.h"
#include "assay/base/text.h"
#include "assay/run/resources.h"
#include "assay/support/log.h"
#include "cli/commands.h"

#include <CLI/CLI.hpp>

#include <memory>

namespace assay::cli {
namespace {

struct TopologyFlags {
  std::string json, out;
  int level = -1;
  bool force = false;
};

Result<int> run_topology(const TopologyFlags& flags) {
  if (is_folder(flags.json)) {
    const auto found = find_topology(flags.json);
    return fail(
        ErrorKind::bad_argument, "{}: is a folder, and topologies are files in its model/ and layer/: {}",
        display(flags.json),
        found ? fmt::format("assay topology {}", shell_word(display(*found))) : "there is none in it");
  }
  TopologyRequest request;
  request.json = flags.json;
  request.out = flags.out;
  request.level = flags.level;
  request.force = flags.force;
  request.memory = memory_budget(0);
  ASSAY_TRY(const TopologyOutcome outcome, draw_topology(request));
  for (const std::string& warning : outcome.warnings) log::warn("{}", warning);
  console::print("{}: {} {}\n", display(outcome.out), outcome.nodes, outcome.nodes == 1 ? "node" : "nodes");
  return 0;
}

}  // namespace

void add_topology(CLI::App& app, const Context&, Action& action) {
  const auto flags = std::make_shared<TopologyFlags>();
  CLI::App* const command = app.add_subcommand("topology", "Draw an ATB model or layer as an ONNX graph");
  command->add_option("json", flags->json, "A file of model/ or layer/ of an ATB dump")
      ->required()
      ->type_name("");
  command
      ->add_option(
          "--level", flags->level,
          "How deep to take operations apart (default -1:\nall the way; 0: not at all; 1: layers of a model)")
      ->type_name("N")
      ->check(CLI::Range(-1, 1000).description(""));
  command->add_option("-o,--output", flags->out, "File to write (default: X.onnx beside X.json)")
      ->type_name("FILE");
  command->add_flag("--force", flags->force, "Replace what exists (default: refuse)");
  command->footer(
      "Exit code: 0, or 2 if there is nothing to draw.\n"
      "Examples:\n"
      "  assay topology msit_dump/model/4321/DecoderModel.json\n"
      "  assay topology DecoderModel.json --level 1 -o layers.onnx");
  command->callback([flags, &action] { action = [flags] { return run_topology(*flags); }; });
}

}  // namespace assay::cli

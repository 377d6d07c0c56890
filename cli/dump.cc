#include "assay/base/text.h"
#include "assay/run/launch/atb_place.h"
#include "assay/support/log.h"
#include "cli/commands.h"
#include "cli/grouped_help.h"
#include "cli/launch.h"

#include <CLI/CLI.hpp>

#include <algorithm>
#include <memory>

namespace assay::cli {
namespace {

struct DumpFlags {
  std::vector<std::string> types;
  std::string ids, names, tokens = "0,0", when = "in-out", part = "both", output = ".", config, seed, device;
  bool descriptions = false, no_children = false, tiling = false, links = false;
};

Result<int64_t> parse_number(std::string_view flag, const std::string& text) {
  const auto number = parse_int(text);
  if (number && *number >= 0) return *number;
  return fail(ErrorKind::bad_argument, "{}: '{}' is no whole number", flag, printable(text));
}

Result<DumpSettings> settings_of(const DumpFlags& flags) {
  DumpSettings settings;
  if (!flags.types.empty()) settings.types = split_list(flags.types);
  for (const std::string& type : settings.types)
    if (std::ranges::find(kDumpTypes, type) == kDumpTypes.end())
      return fail(ErrorKind::bad_argument, "--type: there is no '{}'; there are {}", printable(type),
                  fmt::join(kDumpTypes, ", "));
  if (settings.has("stats") && !settings.has("tensor")) settings.types.push_back("tensor");
  settings.only_descriptions = flags.descriptions;
  auto ids = read_ids(flags.ids);
  if (!ids)  // in the words of the original it names no flag
    return fail(ErrorKind::bad_argument,
                "--ids: '{}' names no operations: numbers joined by '_', these by ',', e.g. 2,3_1",
                printable(flags.ids));
  settings.ids = *std::move(ids);
  ASSAY_TRY(settings.range, read_range(flags.tokens));
  settings.children = !flags.no_children;
  settings.names = flags.names;
  settings.tiling = flags.tiling;
  settings.links = flags.links;
  settings.output = flags.output;
  const std::array<std::string_view, 4> moments = {"before", "after", "both", "in-out"};
  settings.time = static_cast<int>(std::ranges::find(moments, flags.when) - moments.begin());
  settings.part = flags.part == "in" ? 0 : flags.part == "out" ? 1 : 2;
  if (!flags.device.empty()) {
    ASSAY_TRY(settings.device, parse_number("--device", flags.device));
  }
  if (!flags.seed.empty()) {
    ASSAY_TRY(settings.seed, parse_number("--seed", flags.seed));
  }
  if (!flags.config.empty()) {
    std::error_code missing;
    settings.config = fs::canonical(flags.config, missing);
    if (missing)
      return fail(ErrorKind::not_found, "--config: {}: {}", display(flags.config), missing.message());
  }
  if (const auto in_vain = settings_in_vain(settings); !in_vain.empty())
    return fail(ErrorKind::bad_argument, "{}", in_vain.front());
  return settings;
}

Result<int> record(const DumpFlags& flags, const Context& context) {
  if (context.child.empty())
    return fail(ErrorKind::bad_argument,
                "the command to record is missing: it stands behind --, as in 'assay dump -- bash run.sh'");
  ASSAY_TRY(const DumpSettings settings, settings_of(flags));
  if (const auto atb = find_atb(); !atb)
    log::warn("{}; without it only a program that finds ATB by itself is recorded", atb.error().message);
  return run_dump(settings, context.child, context);
}

}  // namespace

void add_dump(CLI::App& app, const Context& context, Action& action) {
  const auto flags = std::make_shared<DumpFlags>();
  CLI::App* const command =
      app.add_subcommand("dump", "Run a program and record what ATB computes in it: assay dump -- COMMAND");
  command
      ->add_option("--type", flags->types,
                   "tensor model layer op kernel cpu_profiling onnx stats\n(default: tensor,model)")
      ->type_name("NAME,..")
      ->allow_extra_args(false);
  const auto add = [&](const std::string& name, std::string& text, const std::string& help,
                       const std::string& value) {
    return command->add_option(name, text, help)->type_name(value);
  };
  add("--tokens", flags->tokens, "Rounds, first and last in pairs: 0,0 or 3,5,7,7 or all\n(default: 0,0)",
      "A,B,..");
  add("--ids", flags->ids, "Only these operations and what is inside, e.g. 2,3_1", "ID,..");
  add("--op", flags->names, "Only types that begin so, e.g. self,linear", "NAME,..");
  add("--when", flags->when,
      "before, after, both, or in-out: inputs before the operation\nand outputs after it (default)", "WHEN")
      ->check(CLI::IsMember({"before", "after", "both", "in-out"}).description(""));
  add("--part", flags->part, "in, out or both (default: both)", "WHICH")
      ->check(CLI::IsMember({"in", "out", "both"}).description(""));
  add("--output", flags->output, "Folder for the dump (default: .)", "DIR");
  add("--device", flags->device, "Only this device", "N");
  command->add_flag("--descriptions", flags->descriptions, "Types and shapes, no data");
  command->add_flag("--no-children", flags->no_children, "With --ids: not what is inside of them");
  command->add_flag("--tiling", flags->tiling, "Tiling data of kernels, too");
  command->add_flag("--links", flags->links, "Files with equal contents become links");
  add("--config", flags->config, "Settings that are read again while the program runs", "FILE");
  add("--seed", flags->seed, "Ask libraries to compute the same way twice", "N");
  command->footer(
      "The command is run as it stands, without a shell; its exit status is that of assay (127: there is\n"
      "no such program), and signals go to it. docs/dump.md\n"
      "Examples:\n"
      "  assay dump -- bash run.sh \"a prompt\"\n"
      "  assay dump --tokens 0,1 --op linear --output /data -- python3 run.py");
  command->callback(
      [flags, &context, &action] { action = [flags, &context] { return record(*flags, context); }; });
}

}  // namespace assay::cli

#include "assay/run/compact/compact.h"

#include "assay/base/console.h"
#include "assay/base/text.h"
#include "cli/commands.h"
#include "cli/grouped_help.h"

#include <CLI/CLI.hpp>

#include <memory>

namespace assay::cli {
namespace {

constexpr size_t kMostReasons = 20;

struct CompactFlags {
  std::string folder, form = "stats", memory;
  std::vector<std::string> only, skip;
  double idle = 0;
  bool watch = false, dry_run = false, keep_going = false, quiet = false, trusted = false;
  int threads = 0;
};

std::string files(int64_t count) { return fmt::format("{} file{}", count, count == 1 ? "" : "s"); }

void complain(std::string_view what, const std::vector<std::string>& reasons) {
  for (size_t i = 0; i < reasons.size() && i < kMostReasons; ++i)
    console::print(console::Stream::err, "assay: {}{}\n", what, reasons[i]);
  if (reasons.size() > kMostReasons)
    console::print(console::Stream::err, "assay: {}… and {} more\n", what, reasons.size() - kMostReasons);
}

void summarise(const CompactOutcome& outcome, bool dry_run) {
  if (outcome.replaced == 0)
    console::print("{}", outcome.troubles.empty() ? "nothing to replace" : "nothing was replaced");
  else if (dry_run)
    console::print("would replace {}, {}", files(outcome.replaced), format_size(outcome.bytes_before));
  else
    console::print("replaced {}, {}, by {} of statistics", files(outcome.replaced),
                   format_size(outcome.bytes_before), format_size(outcome.bytes_after));
  console::print("{}{}{}\n",
                 outcome.kept.empty() ? "" : fmt::format("; kept {}", files(std::ssize(outcome.kept))),
                 outcome.gone == 0 ? ""
                                   : fmt::format("; {} {} renamed or removed meanwhile", files(outcome.gone),
                                                 outcome.gone == 1 ? "was" : "were"),
                 outcome.stopped ? "; stopped at trouble (--keep-going goes on)" : "");
}

Result<int> run_compact(const CompactFlags& flags) {
  CompactRequest request;
  request.root = flags.folder;
  request.choice.form = request.options.form =
      flags.form == "min_max" ? CompactForm::min_max : CompactForm::stats;
  ASSAY_TRY_DO(parse_patterns("--only", flags.only));  // for what is wrong with them
  ASSAY_TRY_DO(parse_patterns("--skip", flags.skip));
  request.choice.only = PathPatterns(request.root, flags.only);
  request.choice.skip = PathPatterns(request.root, flags.skip);
  ASSAY_TRY_DO(limit_files(flags.memory, flags.threads, flags.trusted, request.options.format));
  request.options.dry_run = flags.dry_run;
  request.keep_going = flags.keep_going;
  request.threads = flags.threads;
  request.progress = !flags.quiet;
  request.watch = flags.watch;
  if (flags.idle > 0) request.idle_s = flags.idle;
  if (flags.watch && flags.dry_run)
    return fail(ErrorKind::bad_argument, "--dry-run looks once; leave out --watch");
  if (request.idle_s && !flags.watch)
    return fail(ErrorKind::bad_argument, "--idle says when --watch ends; pass --watch too");
  if (flags.dry_run)
    request.on_replaced = [](const CompactJob& job, const FileFate& fate) {
      console::print("{} -> {}  {}\n", display(job.path), display(fate.replacement.filename()),
                     format_size(job.state.size));
    };
  ASSAY_TRY(const CompactOutcome outcome, compact(request));
  complain("kept: ", outcome.kept);
  complain("", outcome.troubles);
  if (!flags.quiet) summarise(outcome, flags.dry_run);
  if (!outcome.troubles.empty()) return 2;
  return outcome.kept.empty() ? 0 : 1;
}

}  // namespace

void add_compact(CLI::App& app, const Context&, Action& action) {
  const auto flags = std::make_shared<CompactFlags>();
  CLI::App* const command =
      app.add_subcommand("compact", "Replace full dumps by statistics, also while they are written");
  command->add_option("folder", flags->folder, "The folder of a dump")->required()->type_name("");
  command->add_option("--as", flags->form, "X.stats.json, or TorchAir's X_min_max.npz (default stats)")
      ->type_name("stats|min_max")
      ->check(CLI::IsMember({"stats", "min_max"}).description(""));
  command->add_flag("--watch", flags->watch, "Follow a dump that is being written (default: look once)");
  command->add_option("--idle", flags->idle, "End --watch after N quiet seconds (default: Ctrl-C)")
      ->type_name("N")
      ->check(CLI::Range(1.0, 1e6).description(""));
  command->add_flag("--dry-run", flags->dry_run, "Change nothing; list what would be replaced");
  command->add_flag("--keep-going", flags->keep_going, "Go on after a full disk or an unreadable folder");
  add_choice_flags(*command, "files", "path", flags->only, flags->skip);
  command->add_option("--memory", flags->memory, "Memory to use (default: a quarter, at most 8 GiB)")
      ->type_name("SIZE");
  command->add_option("--threads", flags->threads, "Threads (default 0: all cores)")
      ->type_name("N")
      ->check(CLI::Range(0, 4096).description(""));
  command->add_flag("--trusted", flags->trusted, kTrustedHelp);
  command->add_flag("-q,--quiet", flags->quiet, "No summary");
  command->footer(
      "The data of replaced files is gone. Exit code: 0; 1 if a file was kept; 2 on trouble.\n"
      "Examples:\n"
      "  assay compact dump/ --dry-run\n"
      "  assay compact msit_ge_dump/ --watch --idle 600");
  command->callback([flags, &action] { action = [flags] { return run_compact(*flags); }; });
}

}  // namespace assay::cli

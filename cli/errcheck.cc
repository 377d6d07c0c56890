#include "assay/run/errcheck.h"

#include "assay/base/text.h"
#include "assay/report/verdict_sentence.h"
#include "assay/support/log.h"
#include "cli/commands.h"
#include "cli/grouped_help.h"
#include "cli/launch.h"
#include "cli/new_folder.h"
#include "cli/patterns.h"
#include "cli/run_flags.h"

#include <CLI/CLI.hpp>

#include <memory>

namespace assay::cli {
namespace {

struct ErrcheckFlags {
  std::string dump, layout, dtype, shape, offset;
  std::vector<std::string> only, skip, rule;
  bool trusted = false, exit = false;
  RunFlags run;
};

Result<int> check_dump(const ErrcheckFlags& flags, const Context& context) {
  const NewFolder folder(flags.run.folder());
  CompareRequest request;
  request.mine = flags.dump;
  request.open.layout = flags.layout;
  request.open.warm_up = true;  // an operator that fails there fails
  ASSAY_TRY_DO(choose_tensors(flags.only, flags.skip, request.open));
  ASSAY_TRY_DO(describe_raw(flags.dtype, flags.shape, flags.offset, request.open.format));
  ASSAY_TRY_DO(limit_files(flags.run.memory, flags.run.threads, flags.trusted, request.open.format));
  ASSAY_TRY_DO(check_raw_is_meant(std::array{request.mine}, "--dtype", request.open.format));
  for (const std::string& text : flags.rule) {
    ASSAY_TRY(Rule rule, parse_rule(text));
    request.rules.rules.push_back(std::move(rule));
  }
  ASSAY_TRY_DO(check_numbers(request));
  set_run(flags.run, context, request);
  ReportSet reports;
  ASSAY_TRY_DO(add_sinks(flags.run.sinks(&overflow_profile), reports));
  if (!request.rules.rules.empty()) reports.add(watch_rules(request.rules.rules));
  const std::string selection = selection_text(request.open.only, request.open.skip);
  reports.select(selection);
  auto looked = compare(request, reports);
  if (looked || looked.error().kind == ErrorKind::not_found) warn_of_patterns_in_vain(request.open);
  ASSAY_TRY(CompareOutcome outcome, std::move(looked));
  outcome.summary.selection = selection;
  const VerdictSentence verdict = verdict_sentence(outcome.summary);
  if (verdict.answer == Answer::not_compared && flags.run.is_unsaid()) log::error("{}", verdict.text());
  return exit_code(verdict.answer);
}

// A program whose overflows ATB reports.
Result<int> check_program(const ErrcheckFlags& flags, const Context& context) {
  if (!flags.only.empty() || !flags.skip.empty() || !flags.rule.empty() || !flags.run.report.empty())
    return fail(ErrorKind::bad_argument,
                "--only, --skip, --rule and --report are for dumps: of a program that runs, ATB reports what "
                "overflows; "
                "'assay dump' records it");
  const fs::path output = flags.run.output.empty() ? "." : flags.run.output;
  ASSAY_TRY(const CheckedRun run, run_check(output, flags.exit, "info", context.child));
  if (run.overflowed || run.has_spoilt_inputs) return exit_code(Answer::fail);
  if (run.is_unknown) return exit_code(Answer::error);
  // A program that failed was not looked at to its end; its own status might be taken for an answer.
  return exit_code(run.status == 0 && run.was_asked ? Answer::pass : Answer::not_compared);
}

Result<int> check(const ErrcheckFlags& flags, const Context& context) {
  if (flags.dump.empty() == context.child.empty())
    return fail(ErrorKind::bad_argument,
                "errcheck takes a dump, or behind -- a command to run, and {}; see 'assay errcheck --help'",
                flags.dump.empty() ? "there is neither" : "there are both");
  if (context.child.empty() && flags.exit)
    return fail(ErrorKind::bad_argument, "--exit stops a program that runs; a dump has ended already");
  return context.child.empty() ? check_dump(flags, context) : check_program(flags, context);
}

}  // namespace

void add_errcheck(CLI::App& app, const Context& context, Action& action) {
  const auto flags = std::make_shared<ErrcheckFlags>();
  CLI::App* const command =
      app.add_subcommand("errcheck", "Find the operator that made the first NaN or infinity");
  command->add_option("dump", flags->dump, "A dump, or a file or folder of tensors")->type_name("");
  add_choice_flags(*command, "tensors", "name", flags->only, flags->skip);
  command->add_option("--rule", flags->rule, "What passes: 'EXPR', 'GLOB=EXPR' or 'GLOB=ignore'")
      ->type_name("RULE")
      ->allow_extra_args(false);
  command->add_flag("--exit", flags->exit, "With -- COMMAND: stop it at the first overflow");
  const auto add = [&](const std::string& name, std::string& text, const std::string& help,
                       const std::string& value, const char* group) {
    return command->add_option(name, text, help)->type_name(value)->group(group);
  };
  add("--layout", flags->layout, "As of compare (default: recognised)", "NAME", "Reading");
  add("--dtype", flags->dtype, "Element type of raw files, e.g. bf16", "D", "Reading");
  add("--shape", flags->shape, "Shape of raw files (default: flat)", "2,3", "Reading");
  add("--offset", flags->offset, "Where the elements of raw files begin (0)", "BYTES", "Reading");
  command->add_flag("--trusted", flags->trusted, kTrustedHelp)->group("Reading");
  add_run_flags(*command, flags->run);
  use_grouped_help(*command);
  command->footer(
      "Each tensor is looked at by itself: NaN, infinities, and how close its numbers come to the ends\n"
      "of their type (docs/scenarios/errcheck.md). Columns for --rule: nans infs plus_infs smallest largest\n"
      "of_type_max near_max subnormal zero count.\n"
      "Behind --, a program is run instead, and ATB reports what overflows in it.\n"
      "Exit code: 0 all finite, 1 NaN or infinities were found, 2 trouble, a program that failed, or too\n"
      "little looked at.\n"
      "Examples:\n"
      "  assay errcheck msit_dump_20260101_120000 --report csv\n"
      "  assay errcheck dump/step0 --rule 'nans == 0 and plus_infs == 0'\n"
      "  assay errcheck --exit -- bash run.sh");
  command->callback(
      [flags, &context, &action] { action = [flags, &context] { return check(*flags, context); }; });
}

}  // namespace assay::cli

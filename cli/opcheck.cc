#include "assay/run/opcheck.h"

#include "assay/base/text.h"
#include "assay/report/verdict_sentence.h"
#include "assay/run/resources.h"
#include "assay/support/log.h"
#include "cli/commands.h"
#include "cli/grouped_help.h"
#include "cli/new_folder.h"
#include "cli/patterns.h"
#include "cli/run_flags.h"

#include <CLI/CLI.hpp>

#include <algorithm>
#include <memory>

namespace assay::cli {
namespace {

struct OpcheckFlags {
  std::string dump, csv, soc;
  std::vector<std::string> ids, op, metrics, rule;
  RunFlags run;
};

// "0_6_10": numbers joined by '_'.
bool is_op_id(std::string_view text) {
  if (text.empty() || text.front() == '_' || text.back() == '_') return false;
  return text.find_first_not_of("0123456789_") == std::string_view::npos &&
         text.find("__") == std::string_view::npos;
}

Result<OpSelection> choose_operators(const OpcheckFlags& flags) {
  OpSelection selection;
  selection.ids = split_list(flags.ids);
  for (const std::string& id : selection.ids)
    if (!is_op_id(id))
      return fail(ErrorKind::bad_argument, "--ids: '{}' is no operator; numbers joined by '_', e.g. 0_6_10",
                  printable(id));
  ASSAY_TRY(selection.types, parse_patterns("--op", flags.op));
  return selection;
}

Result<Soc> parse_soc(std::string_view text) {
  const std::string name = to_lower(text);
  if (name.empty()) return Soc::unknown;
  if (name.find("910b") != std::string::npos) return Soc::ascend_910b;
  if (name.find("310p") != std::string::npos) return Soc::ascend_310p;
  return fail(ErrorKind::bad_argument, "--soc: '{}' is not known; there are 910B and 310P", printable(text));
}

Result<void> choose_columns(const OpcheckFlags& flags, CompareRequest& request) {
  for (const std::string& text : flags.rule) {
    ASSAY_TRY(Rule rule, parse_rule(text));
    request.rules.rules.push_back(std::move(rule));
  }
  std::vector<std::string> names = split_list(flags.metrics);
  names.insert(names.begin(), "bound");
  if (flags.metrics.empty())
    for (const std::string_view name : {"max_abs", "rel_l2", "cosine", "ulp_max", "worst"})
      names.emplace_back(name);
  ASSAY_TRY(const MetricPlan shown, plan_metrics(names));
  request.shown_columns = shown.columns;
  if (!request.rules.rules.empty())
    for (const std::string& column : columns_needed(request.rules)) names.push_back(column);
  ASSAY_TRY(request.metrics, plan_metrics(names));
  return {};
}

Result<int> run_opcheck(const OpcheckFlags& flags, const Context& context) {
  const NewFolder folder(flags.run.folder());
  CompareRequest request;
  OpcheckPlace place = locate_operators(flags.dump);
  request.mine = place.dump;
  int64_t budget = 0;
  if (!flags.run.memory.empty()) {
    ASSAY_TRY(budget, parse_memory(flags.run.memory));
  }
  limit_files(request.open.format, budget, flags.run.threads, false);
  ASSAY_TRY(OpSelection selection, choose_operators(flags));
  selection.below = std::move(place.below);
  if (!flags.csv.empty()) ASSAY_TRY_DO(select_by_table(flags.csv, selection, request.golden_ops));
  request.golden_ops.memory = memory_budget(budget);
  ASSAY_TRY(request.golden_ops.soc, parse_soc(flags.soc));
  const std::vector<std::string> table =
      flags.csv.empty() ? std::vector<std::string>() : std::vector{flags.csv};
  const std::string given =
      given_text({{"--ids", selection.ids}, {"--op", selection.types}, {"--csv", table}});
  check_operators(std::move(selection), request);
  set_run(flags.run, context, request);
  ASSAY_TRY_DO(choose_columns(flags, request));
  ReportSet reports;
  ASSAY_TRY_DO(add_sinks(flags.run.sinks(), reports));
  if (!request.rules.rules.empty()) reports.add(watch_rules(request.rules.rules));
  reports.select(given);
  ASSAY_TRY(CompareOutcome outcome, compare(request, reports));
  if (outcome.summary.rows == 0 && !given.empty())
    return fail(ErrorKind::not_found,
                "{}: no operator fits --ids, --op and --csv; types are those in the names of folders, "
                "e.g. --op 'Linear*'",
                printable(flags.dump));
  outcome.summary.selection = given;
  const VerdictSentence verdict = verdict_sentence(outcome.summary);
  if (verdict.answer == Answer::not_compared && flags.run.is_unsaid()) log::error("{}", verdict.text());
  return exit_code(verdict.answer);
}

}  // namespace

void add_opcheck(CLI::App& app, const Context& context, Action& action) {
  const auto flags = std::make_shared<OpcheckFlags>();
  CLI::App* const command = app.add_subcommand("opcheck", "Check operators of an ATB dump, each by itself");
  command->add_option("dump", flags->dump, "A dump, a rank, a token or an operator's folder")
      ->required()
      ->type_name("");
  command->add_option("--ids", flags->ids, "Only these operators and what is inside, e.g. 2_0,24")
      ->type_name("ID,..")
      ->allow_extra_args(false);
  command->add_option("--op", flags->op, "Only these types, e.g. 'Linear*'")
      ->type_name("GLOB,..")
      ->allow_extra_args(false);
  command
      ->add_option("--csv", flags->csv, "Only those of this operation_tensors_*.csv; it also has\nparameters")
      ->type_name("FILE");
  command->add_option("--soc", flags->soc, "910B or 310P (default: told from shapes)")->type_name("NAME");
  command->add_option("--metrics", flags->metrics, "More columns (docs/metrics.md)")
      ->type_name("NAME,..")
      ->allow_extra_args(false);
  command->add_option("--rule", flags->rule, "What passes, instead of rounding: 'EXPR' or 'GLOB=EXPR'")
      ->type_name("RULE")
      ->allow_extra_args(false);
  add_run_flags(*command, flags->run);
  use_grouped_help(*command);
  command->footer(
      "Each output is held against what its operator should have given for the inputs in the\n"
      "dump; an element passes if rounding explains it (docs/scenarios/opcheck.md).\n"
      "Exit code: 0 all right, 1 an operator is wrong, 2 trouble or nothing checked.\n"
      "Example:\n"
      "  assay opcheck msit_dump_20260101_120000/tensors/0_4001/0 --op 'Linear*'");
  command->callback(
      [flags, &context, &action] { action = [flags, &context] { return run_opcheck(*flags, context); }; });
}

}  // namespace assay::cli

#include "assay/run/compare/compare.h"

#include "assay/base/caller.h"
#include "assay/base/child.h"
#include "assay/compat/msit/metric/metrics.h"
#include "assay/compat/msprobe/metric/metrics.h"
#include "assay/format/held_files.h"
#include "assay/match/alike/rename.h"
#include "assay/report/verdict_sentence.h"
#include "assay/support/log.h"
#include "cli/commands.h"
#include "cli/did_you_mean.h"
#include "cli/grouped_help.h"
#include "cli/mapping_flags.h"
#include "cli/new_folder.h"
#include "cli/noise.h"
#include "cli/patterns.h"
#include "cli/run_flags.h"

#include <CLI/CLI.hpp>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <memory>

namespace assay::cli {
namespace {

struct CompareFlags {
  std::string mine, golden;
  std::vector<std::string> metrics, rule, only, skip, sections, noise;
  std::string rules, unmatched, layout, match, dtype, shape, offset, tolerance;
  std::string order = "name", values = "note", detail = "words", origin = "run";
  std::optional<double> rtol, atol;
  bool fail_fast = false, fuzzy = false, trusted = false, allow_nonfinite = false;
  double min_compared = kLeastCompared;
  RunFlags run;
  std::string api_mapping, cell_mapping, layer_mapping, data_mapping, op_mapping;
  std::vector<std::string> rename, rename_golden, strip_prefix;
};

// Where the first origin comes from, as --origin says it.
constexpr std::pair<std::string_view, OriginBy> kOrigins[] = {{"run", OriginBy::run},
                                                              {"estimate", OriginBy::estimate},
                                                              {"off", OriginBy::nothing},
                                                              {"all", OriginBy::run_all}};

OriginBy origin_of(std::string_view word) {
  const auto* const found = std::ranges::find(kOrigins, word, &std::pair<std::string_view, OriginBy>::first);
  return found == std::end(kOrigins) ? OriginBy::estimate : found->second;
}

constexpr std::string_view kAlone = "-";  // the value of a mapping flag that stands alone

MappingFlag mapping_flag(const std::string& text) {
  return {!text.empty(), text.empty() || text == kAlone ? std::nullopt : std::optional(text)};
}

Result<std::shared_ptr<const NameRules>> read_renames(const CompareFlags& flags) {
  if (flags.rename.empty() && flags.rename_golden.empty() && flags.strip_prefix.empty())
    return std::shared_ptr<const NameRules>();
  const auto renames = std::make_shared<NameRules>();
  for (const std::string& prefix : flags.strip_prefix) renames->strip(prefix);
  for (const std::string& rule : flags.rename) ASSAY_TRY_DO(renames->add(Side::mine, rule, "--rename"));
  for (const std::string& rule : flags.rename_golden)
    ASSAY_TRY_DO(renames->add(Side::golden, rule, "--rename-golden"));
  return std::shared_ptr<const NameRules>(renames);
}

Result<void> choose_matching(const CompareFlags& flags, CompareRequest& request) {
  MappingFlags given{mapping_flag(flags.api_mapping), mapping_flag(flags.cell_mapping),
                     mapping_flag(flags.layer_mapping), std::nullopt};
  if (!flags.data_mapping.empty()) given.data = flags.data_mapping;
  ASSAY_TRY(Mappings mappings, read_mappings(given));
  request.matching.matcher = flags.match;
  request.matching.fuzzy = flags.fuzzy;
  request.matching.mappings = std::make_shared<const Mappings>(std::move(mappings));
  ASSAY_TRY(request.matching.renames, read_renames(flags));
  if (!flags.op_mapping.empty()) {
    ASSAY_TRY(request.matching.op_mapping, read_op_mapping(flags.op_mapping, request.open.format.memory));
  }
  return {};
}

// --rtol and --atol are a rule for all rows, before those of patterns.
Result<void> choose_tolerance(const CompareFlags& flags, RuleOptions& rules) {
  if (!flags.tolerance.empty()) {
    std::string_view word = flags.tolerance;
    if (word == "fp8" || word == "f8" || word == "float8") word = "f8e4m3fn";
    rules.tolerance = find_dtype(word);
    if (!rules.tolerance || !is_real(*rules.tolerance))
      return fail(ErrorKind::bad_argument,
                  "--tolerance: '{}' is no real element type; try bf16, f16, f32, fp8, f8e5m2",
                  printable(flags.tolerance));
  }
  if (!flags.rtol && !flags.atol) return {};
  for (const double each : {flags.rtol.value_or(0), flags.atol.value_or(0)})
    if (!(each >= 0 && std::isfinite(each)))
      return fail(ErrorKind::bad_argument, "--rtol and --atol: {} is no tolerance; 0 or more", each);
  const auto is_general = [](const Rule& rule) { return rule.pattern == "*"; };
  if (std::ranges::any_of(rules.rules, is_general))
    return fail(
        ErrorKind::bad_argument,
        "--rtol and --atol are a rule for all rows, and there is another: give that one a pattern, or "
        "write 'not_close == 0 and ...' into it");
  const Closeness defaults;
  rules.closeness = {flags.rtol.value_or(defaults.rtol), flags.atol.value_or(defaults.atol)};
  ASSAY_TRY(Expression expression, Expression::parse(kClosenessRule));
  rules.rules.insert(rules.rules.begin(), Rule{"*", std::move(expression)});
  return {};
}

Result<void> choose_rules(const CompareFlags& flags, CompareRequest& request) {
  if (!flags.rules.empty()) {
    ASSAY_TRY(request.rules.rules, read_rules(flags.rules));
  }
  for (const std::string& text : flags.rule) {
    ASSAY_TRY(Rule rule, parse_rule(text));
    request.rules.rules.push_back(std::move(rule));
  }
  ASSAY_TRY_DO(choose_tolerance(flags, request.rules));
  request.rules.allow_nonfinite = flags.allow_nonfinite;
  if (flags.allow_nonfinite && request.rules.rules.empty())
    return fail(ErrorKind::bad_argument,
                "--allow-nonfinite is for rules of your own: add --rule or --rules; the default rules never "
                "let NaN and infinities differ");
  if (!(flags.min_compared >= 0 && flags.min_compared <= 1))
    return fail(ErrorKind::bad_argument, "--min-compared: {} is no share; 0 to 1", flags.min_compared);
  request.least_compared = flags.min_compared;
  request.rules.values_fail = flags.values == "fail";
  if (!flags.unmatched.empty()) request.rules.unmatched_fails = flags.unmatched == "fail";
  return {};
}

// Those that stand for other tools can be asked for like our own.
std::vector<const Metric*> metrics_of_other_tools() {
  std::vector<const Metric*> table;
  for (const MetricTable each : {msit_metrics(), msprobe_metrics()})
    table.insert(table.end(), each.begin(), each.end());
  return table;
}

// Names of metrics and of their columns.
std::vector<std::string> known_columns(const std::vector<const Metric*>& more) {
  std::vector<std::string> known = {"default", "all"};
  for (const MetricTable table : {metrics(), MetricTable(more)})
    for (const Metric* metric : table) {
      known.emplace_back(metric->name);
      known.insert(known.end(), metric->columns.begin(), metric->columns.end());
    }
  return known;
}

// For the first of the names that is not known.
std::string suggestion(const std::vector<std::string>& names, const std::vector<std::string>& known) {
  for (const std::string& name : names)
    if (std::ranges::find(known, name) == known.end()) return did_you_mean(name, known);
  return {};
}

// What reports show, and beside it what the rules need.
Result<void> choose_metrics(const CompareFlags& flags, CompareRequest& request) {
  std::vector<std::string> names = split_list(flags.metrics);
  if (names.empty()) names = {"default"};
  const std::vector<const Metric*> more = metrics_of_other_tools();
  const std::vector<std::string> known = known_columns(more);
  const auto shown = plan_metrics(names, more);
  if (!shown) return fail(ErrorKind::bad_argument, "{}{}", shown.error().message, suggestion(names, known));
  request.shown_columns = shown->columns;
  const std::vector<std::string> needed = columns_needed(request.rules);
  names.insert(names.end(), needed.begin(), needed.end());
  auto plan = plan_metrics(names, more);
  if (!plan)
    return fail(ErrorKind::bad_argument, "in a rule: {}{}", plan.error().message, suggestion(needed, known));
  for (const Rule& rule : request.rules.rules)
    if (rule.expression && request.rules.noise == nullptr)
      for (const std::string& name : rule.expression->names())
        if (name == "noise" || name == "noise_max")
          return fail(ErrorKind::bad_argument, "in a rule: '{}' needs --noise, a second run of mine", name);
  for (const std::string& column : needed)  // `worst` is a metric, but a rule needs one of its columns
    if (std::find(plan->columns.begin(), plan->columns.end(), column) == plan->columns.end())
      return fail(ErrorKind::bad_argument, "in a rule: '{}' is no column; docs/metrics.md lists them{}",
                  column, did_you_mean(column, known));
  request.metrics = std::move(*plan);
  request.metrics.steps_of = request.rules.tolerance;
  if (request.rules.closeness) request.metrics.closeness = *request.rules.closeness;
  return {};
}

// A word for what the tables list: a slip of the pen is told with the word that was meant.
template <class Table>
Result<void> check_word(std::string_view flag, std::string_view what, const std::string& word,
                        const Table& table) {
  std::vector<std::string> known;
  for (const auto* each : table) known.emplace_back(each->name);
  if (word.empty() || std::ranges::find(known, word) != known.end()) return {};
  return fail(ErrorKind::bad_argument, "{} {}: no such {}; there are {}{}", flag, printable(word), what,
              fmt::join(known, ", "), did_you_mean(word, known));
}

// What is read, and what stands against what.
Result<void> choose_pairs(const CompareFlags& flags, CompareRequest& request) {
  ASSAY_TRY_DO(check_word("--match", "method", flags.match, matchers()));
  ASSAY_TRY_DO(check_word("--layout", "layout", flags.layout, layouts()));
  request.mine = flags.mine;
  request.golden = flags.golden;
  request.open.layout = flags.layout;
  ASSAY_TRY_DO(describe_raw(flags.dtype, flags.shape, flags.offset, request.open.format));
  ASSAY_TRY_DO(choose_matching(flags, request));
  request.open.order_by_time = flags.order == "time";
  request.open.format.values = flags.values != "skip";
  return {};
}

Result<int> run_compare(const CompareFlags& flags, const Context& context) {
  const NewFolder folder(flags.run.folder());
  CompareRequest request;
  ASSAY_TRY_DO(choose_pairs(flags, request));
  ASSAY_TRY_DO(choose_tensors(flags.only, flags.skip, request.open));
  ASSAY_TRY(request.sections, parse_patterns("--sections", flags.sections));
  ASSAY_TRY_DO(limit_files(flags.run.memory, flags.run.threads, flags.trusted, request.open.format));
  request.open.format.held = of_caller<HandedOver>().files;
  ASSAY_TRY_DO(check_raw_is_meant(std::array{request.mine, request.golden}, "--dtype", request.open.format));
  set_run(flags.run, context, request);
  request.fail_fast = flags.fail_fast;
  ASSAY_TRY_DO(choose_rules(flags, request));
  if (!flags.noise.empty()) {
    ASSAY_TRY(request.rules.noise, measure_noise(flags.noise, request));
  }
  ASSAY_TRY_DO(choose_metrics(flags, request));
  const bool looks_closely = flags.detail != "off" && flags.run.shows_rows();
  if (looks_closely) request.details = kUsualDetails;
  if (looks_closely && flags.run.writes("html")) {
    request.details.passing_rows = kPassingDetails;
    request.details.passing_bytes = kPassingBytes;
  }
  request.shows_details = flags.detail == "full";
  request.origin = origin_of(flags.origin);
  ReportSet reports;
  ASSAY_TRY_DO(add_sinks(flags.run.sinks(), reports));
  if (!flags.fail_fast && !request.rules.rules.empty()) reports.add(watch_rules(request.rules.rules));
  const std::string selection = given_text(
      {{"--only", request.open.only}, {"--skip", request.open.skip}, {"--sections", request.sections}});
  reports.select(selection);
  auto compared = compare(request, reports);
  // A run that was cut short did not see all.
  if (!flags.fail_fast && (compared || compared.error().kind == ErrorKind::not_found))
    warn_of_patterns_in_vain(request.open);
  ASSAY_TRY(CompareOutcome outcome, std::move(compared));
  outcome.summary.selection = selection;
  const VerdictSentence verdict = verdict_sentence(outcome.summary);
  if (verdict.answer == Answer::not_compared && flags.run.is_unsaid()) log::error("{}", verdict.text());
  return exit_code(verdict.answer);
}

void add_pairing_flags(CLI::App& command, CompareFlags& flags) {
  const auto add = [&](const std::string& name, std::string& text, const std::string& help,
                       const std::string& value) {
    command.add_option(name, text, help)->type_name(value)->group("Pairing");
  };
  const auto add_several = [&](const std::string& name, std::vector<std::string>& texts,
                               const std::string& help, const std::string& value) {
    command.add_option(name, texts, help)->type_name(value)->group("Pairing")->allow_extra_args(false);
  };
  add("--match", flags.match, "name exact content position entry api cell\ndata layer fuzzy token", "HOW");
  add_several("--rename", flags.rename, "Read names of mine so, e.g. '^enc\\.=layers.'", "REGEX=TEXT");
  add_several("--rename-golden", flags.rename_golden, "Read names of golden so", "REGEX=TEXT");
  add_several("--strip-prefix", flags.strip_prefix, "Of names of both sides", "TEXT");
  command.add_flag("--fuzzy", flags.fuzzy, "Names may differ in their call numbers")->group("Pairing");
  add("--api-mapping", flags.api_mapping, "MindSpore APIs by their PyTorch names", "[=FILE]");
  add("--cell-mapping", flags.cell_mapping, "MindSpore cells by their PyTorch modules", "[=FILE]");
  add("--layer-mapping", flags.layer_mapping, "By their place in the model", "[=FILE]");
  add("--data-mapping", flags.data_mapping, "By a list of pairs", "FILE");
  add("--op-mapping", flags.op_mapping, "Types of ATB operators and torch modules", "FILE");
}

}  // namespace

bool may_stand_alone(std::string_view flag) {
  return flag == "--api-mapping" || flag == "--cell-mapping" || flag == "--layer-mapping";
}

void settle_bare_flags(std::vector<std::string>& arguments) {
  for (std::string& argument : arguments) {
    if (argument == "--") return;
    if (may_stand_alone(argument)) argument += fmt::format("={}", kAlone);
  }
}

namespace {

CLI::App* add_command(CLI::App& app, const std::shared_ptr<CompareFlags>& flags) {
  CLI::App* const command = app.add_subcommand("compare", "Compare two tensor files or two folders of them");
  command->add_option("mine", flags->mine, "The suspect file or folder")->required()->type_name("");
  command->add_option("golden", flags->golden, "The trusted one")->required()->type_name("");
  command->add_option("--metrics", flags->metrics, "default, all, or names (docs/metrics.md)")
      ->type_name("NAME,..")
      ->allow_extra_args(false);
  command->add_option("--rule", flags->rule, "What passes: 'EXPR' or 'GLOB=EXPR' (docs/rules.md)")
      ->type_name("RULE")
      ->allow_extra_args(false);
  command->add_option("--rules", flags->rules, "The same from a file")->type_name("FILE");
  command->add_option("--rtol", flags->rtol, "All elements: |m-g| <= ATOL + RTOL*|g|, as NumPy")
      ->type_name("RTOL")
      ->group("Judging");
  command->add_option("--atol", flags->atol, "The same; 1e-8 and 1e-5 where one is not given")
      ->type_name("ATOL")
      ->group("Judging");
  command->add_option("--tolerance", flags->tolerance, "As if of this type: bf16, f16, fp8, ...")
      ->type_name("TYPE")
      ->group("Judging");
  command
      ->add_option("--noise", flags->noise, "A second run of mine: what differs as much\nthere may be chance")
      ->type_name("MINE2")
      ->allow_extra_args(false)
      ->group("Judging");
  command->add_option("--unmatched", flags->unmatched, "Tensors of one side only: fail, or ignore")
      ->check(CLI::IsMember({"fail", "ignore"}).description(""))
      ->type_name("WHAT");
  command
      ->add_option("--min-compared", flags->min_compared, "Share of the larger side that a pass needs (0.5)")
      ->type_name("SHARE")
      ->group("Judging")
      ->check(CLI::Range(0.0, 1.0).description(""));
  command
      ->add_option("--values", flags->values,
                   "Numbers and text beside tensors that differ:\nnote (default), fail, or skip")
      ->type_name("WHAT")
      ->check(CLI::IsMember({"note", "fail", "skip"}).description(""))
      ->group("Judging");
  command->add_flag("--allow-nonfinite", flags->allow_nonfinite, "NaN on one side only: --rule decides alone")
      ->group("Judging");
  command->add_option("--detail", flags->detail, "Of what fails: words (default), full (in json), off")
      ->type_name("WHAT")
      ->check(CLI::IsMember({"words", "full", "off"}).description(""))
      ->group("Judging");
  command->add_option("--origin", flags->origin, "First origin: run (default), estimate, all, off")
      ->type_name("HOW")
      ->check(CLI::IsMember({"run", "estimate", "all", "off"}).description(""))
      ->group("Judging");
  command->add_flag("--fail-fast", flags->fail_fast, "Stop at the first failure")->group("Running");
  command->add_option("--only", flags->only, "Only tensors whose name fits (default: all)")
      ->type_name("GLOB,..")
      ->allow_extra_args(false);
  command->add_option("--skip", flags->skip, "Not those whose name fits (default: none)")
      ->type_name("GLOB,..")
      ->allow_extra_args(false);
  command->add_option("--sections", flags->sections, "Only of these ranks, steps, tokens: 'rank 3*'")
      ->type_name("GLOB,..")
      ->allow_extra_args(false)
      ->group("Reading");
  command->add_option("--order", flags->order, "Of the files of a folder: name, or time (of\nmodification)")
      ->type_name("BY")
      ->check(CLI::IsMember({"name", "time"}).description(""))
      ->group("Reading");
  add_pairing_flags(*command, *flags);
  command
      ->add_option("--layout", flags->layout,
                   "single folder msprobe ms_kernel atb torch_hook\nlogits torchair_ge torchair_fx")
      ->type_name("NAME")
      ->group("Reading");
  command->add_option("--dtype", flags->dtype, "Element type of raw files, e.g. bf16")
      ->type_name("D")
      ->group("Reading");
  command->add_option("--shape", flags->shape, "Shape of raw files (default: flat)")
      ->type_name("2,3")
      ->group("Reading");
  command->add_option("--offset", flags->offset, "Where the elements of raw files begin (0)")
      ->type_name("BYTES")
      ->group("Reading");
  add_run_flags(*command, flags->run);
  command->add_flag("--trusted", flags->trusted, kTrustedHelp)->group("Running");
  use_grouped_help(*command);
  command->footer(
      "Exit code: 0 within the rules, 1 different, 2 trouble or too little compared.\n"
      "Examples:\n"
      "  assay compare mine.pt golden.npy\n"
      "  assay compare npu/ gpu/ --rule 'rel_l2 <= 1e-3' --report csv --output out");
  return command;
}

}  // namespace

void add_compare(CLI::App& app, const Context& context, Action& action) {
  const auto flags = std::make_shared<CompareFlags>();
  add_command(app, flags)->callback([flags, &context, &action] {
    action = [flags, &context] { return run_compare(*flags, context); };
  });
}

Result<void> pair_as(std::string_view command_line, CompareRequest& request) {
  ASSAY_TRY(std::vector<std::string> words, split_command(command_line));
  if (words.size() < 2 || words[1] != "compare")
    return fail(ErrorKind::bad_argument, "{} is no comparison of ours", printable(command_line));
  words.erase(words.begin());
  settle_bare_flags(words);
  std::reverse(words.begin(), words.end());
  const auto flags = std::make_shared<CompareFlags>();
  CLI::App app;
  add_command(app, flags);
  try {
    app.parse(std::move(words));
  } catch (const CLI::ParseError& error) {
    return fail(ErrorKind::bad_argument, "{}: {}", printable(command_line), error.what());
  }
  return choose_pairs(*flags, request);
}

}  // namespace assay::cli

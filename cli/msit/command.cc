#include "cli/msit/command.h"

#include "assay/base/console.h"
#include "assay/base/text.h"
#include "assay/support/log.h"
#include "cli/msit/analyze.h"
#include "cli/msit/compare.h"
#include "cli/msit/dump.h"
#include "cli/msit/flags.h"
#include "cli/msit/logits.h"
#include "cli/msit/opcheck.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

namespace assay::cli {
namespace {

using Takes = ForeignFlag::Takes;

// ----- compare

std::optional<std::string> check_rank(const std::string& value) {
  const auto number = parse_int(value);
  if (number && value.find_first_not_of("0123456789") == std::string::npos) return std::nullopt;
  return fmt::format("rank id:{} is illegal. Please check.", printable(value));
}

ForeignCommand compare_command() {
  ForeignCommand command;
  ForeignFlag level = {{"--cmp-level", "-cl"},
                       Takes::one,
                       "Compare level. only enabled for atb.",
                       false,
                       {"layer", "module", "api", "logits", "token"}};
  ForeignFlag mapping = {
      {"--op-mapping-file", "-mf"}, Takes::one, "Operation mapping file or the directory that holds it."};
  mapping.metavar = "MAPPING_FILE";
  ForeignFlag rank = {{"--rank", "-r"}, Takes::one, "rank id. It supports integer or None."};
  rank.metavar = "RANK_ID";
  rank.check = check_rank;
  command.flags = {
      required_path_flag("--golden-path", "-gp", "Golden data path. It supports directory or file."),
      required_path_flag("--my-path", "-mp", "Compared data path. It supports directory or file."),
      level,
      {{"--output", "-o"}, Takes::one, "Data output directory. (default: ./)"},
      {{"--report"}, Takes::one, "further reports of assay: csv,json,jsonl,junit,sqlite", false, {}, true},
      trusted_flag(),
      mapping,
      algorithms_flag(),
      msit_log_level_flag(),
      {{"--weight", "-w"}, Takes::nothing, "Compare float weights and dequant weights"},
      {{"--stats", "-st"}, Takes::nothing, "Compare statistics"},
      rank};
  return command;
}

MsitCompareFlags::CompareLevel level_named(std::string_view name) {
  using CompareLevel = MsitCompareFlags::CompareLevel;
  if (name == "layer") return CompareLevel::layer;
  if (name == "module") return CompareLevel::module;
  if (name == "api") return CompareLevel::api;
  return name == "logits" ? CompareLevel::logits : CompareLevel::token;
}

Result<MsitCompareFlags> compare_flags(const Parsed& parsed) {
  MsitCompareFlags flags;
  flags.golden = parsed.value("--golden-path").value_or("");
  flags.mine = parsed.value("--my-path").value_or("");
  flags.output = parsed.value("--output").value_or("./");
  if (const auto reports = parsed.value("--report")) flags.reports = split_list({*reports});
  flags.wants_files = parsed.value("--output").has_value() || !flags.reports.empty();
  if (const auto level = parsed.value("--cmp-level")) flags.level = level_named(*level);
  if (const auto mapping = parsed.value("--op-mapping-file"); mapping && !mapping->empty())
    flags.mapping = *mapping;
  flags.weight = parsed.has("--weight");
  flags.stats = parsed.has("--stats");
  flags.trusted = parsed.has("--trusted");
  if (const auto rank = parsed.value("--rank")) flags.rank = parse_int(*rank);
  flags.algorithms = parsed.values("--custom-algorithms");
  ASSAY_TRY_DO(check_exists(flags.golden));
  ASSAY_TRY_DO(check_exists(flags.mine));
  ASSAY_TRY_DO(check_output_folder(flags.output));
  if (flags.mapping) {
    ASSAY_TRY_DO(check_exists(*flags.mapping));
  }
  if (flags.weight) {
    ASSAY_TRY_DO(check_folder(flags.golden));
    ASSAY_TRY_DO(check_folder(flags.mine));
  }
  return flags;
}

int run_compare(const Parsed& parsed, Tool tool, const Context& context) {
  const auto flags = compare_flags(parsed);
  return flags ? run_msit_compare(*flags, tool, context) : end_msit(tool, flags.error());
}

// ----- the commands

struct Command {
  std::string_view name, alias, help;
  ForeignCommand (*flags)();  // null where assay does not serve it
  int (*run)(const Parsed& parsed, Tool tool, const Context& context);
  std::string_view instead;  // of a command that is not served
};

constexpr Command kCommands[] = {
    {"dump", "dd", "Dump tool for ascend transformer boost", dump_command, run_msit_dump, {}},
    {"compare", "cc", "Accuracy compare tool for large language model", compare_command, run_compare, {}},
    {"opcheck", "oo", "Operation check tool for large language model", opcheck_command, run_msit_opcheck, {}},
    {"errcheck", "ee", "Error check tool for large language model.", errcheck_command, run_msit_errcheck, {}},
    {"transform", "", "Transform tool for large language model.", nullptr, nullptr,
     "it makes code and compares nothing; use the original"},
    {"analyze", "", "Bad Case analyze tool for large language model.", analyze_command, run_analyze, {}},
    {"bcanalyze", "", "Bad case analyze tool for logits compare tool.", bcanalyze_command, run_bcanalyze, {}},
    {"logitsdump", "", "Logits dump tool for logits compare tool.", nullptr, nullptr,
     "dump with the original, and compare what it wrote with assay"},
    {"logitscmp",
     "",
     "Logits comparison tool for logits compare tool.",
     logitscmp_command,
     run_logitscmp,
     {}},
};

std::string choices(std::string_view separator, std::string_view quote) {
  std::string out;
  for (const Command& command : kCommands)
    for (const std::string_view name : {command.name, command.alias})
      if (!name.empty()) out += fmt::format("{}{}{}{}", out.empty() ? "" : separator, quote, name, quote);
  return out;
}

int print_help(Tool tool) {
  std::string out = fmt::format(
      "usage: {} llm [-h]\n                {{{}}}\n                ...\n\n"
      "The command line of {}, served by assay.\n\noptions:\n"
      "  -h, --help            show this help message and exit\n\nCommand:\n",
      text(tool), choices(",", ""), text(tool));
  for (const Command& command : kCommands) {
    std::string names(command.name);
    if (!command.alias.empty()) names += fmt::format(" ({})", command.alias);
    out += fmt::format("    {:<20}{}{}\n", names, command.help,
                       command.flags == nullptr ? " (not served by assay)" : "");
  }
  static_cast<void>(console::write_text(console::Stream::out, out));
  return 0;
}

int usage_error(std::string_view program, std::string_view what) {
  console::print(console::Stream::err, "usage: {0} [-h] ...\n{0}: error: {1}\n", program, what);
  return 2;
}

// How the original's parts are fetched, installed and looked for. Guides begin with them.
bool is_set_up(std::string_view word) { return word == "download" || word == "install" || word == "check"; }

bool is_help(const std::string& word) { return word == "-h" || word == "--help"; }

}  // namespace

int run_msit(std::span<const std::string> arguments, Tool tool, const Context& context) {
  open_msit_log(tool, "info");
  if (arguments.empty() || is_help(arguments[0])) return print_help(tool);
  if (is_set_up(arguments[0])) {
    console::print("{}-llm is part of this program: nothing has to be installed\n", text(tool));
    return 0;
  }
  if (arguments[0] != "llm")
    return usage_error(text(tool), fmt::format("argument {{llm}}: invalid choice: '{}' (choose from 'llm')",
                                               printable(arguments[0])));
  if (arguments.size() < 2 || is_help(arguments[1])) return print_help(tool);
  const std::string program = fmt::format("{} llm", text(tool));
  const std::string& word = arguments[1];
  const Command* const command = std::find_if(
      std::begin(kCommands), std::end(kCommands),
      [&](const Command& each) { return each.name == word || (!each.alias.empty() && each.alias == word); });
  if (command == std::end(kCommands))
    return usage_error(program, fmt::format("argument {{{}}}: invalid choice: '{}' (choose from {})",
                                            choices(",", ""), printable(word), choices(", ", "'")));
  if (command->flags == nullptr) {
    end_msit(tool, Error{ErrorKind::unsupported,
                         fmt::format("{} is not served by assay yet; {}", command->name, command->instead)});
    return 2;
  }
  ForeignCommand flags = command->flags();
  flags.program = fmt::format("{} {}", program, command->name);
  const auto parsed = parse_foreign(flags, arguments.subspan(2));
  if (!parsed) {
    const auto& [text, code] = parsed.error();
    static_cast<void>(console::write_text(code == 0 ? console::Stream::out : console::Stream::err, text));
    return code;
  }
  open_msit_log(tool, parsed->value("--log-level").value_or("info"));
  return command->run(*parsed, tool, context);
}

}  // namespace assay::cli

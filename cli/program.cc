#include "cli/program.h"

#include "assay/base/console.h"
#include "assay/base/shell_word.h"
#include "assay/base/text.h"
#include "assay/match/matcher.h"
#include "assay/support/log.h"
#include "cli/commands.h"
#include "cli/did_you_mean.h"
#include "cli/msit/command.h"
#include "cli/msprobe/command.h"

#include <CLI/CLI.hpp>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <sstream>

namespace assay::cli {
namespace {

using Words = std::span<const std::string>;

// The tool that is stood for: assay was called by its name (a link), or with it as the first word. Empty:
// none. first: the place of the first word that is the tool's own.
std::string_view tool_stood_for(Words words, size_t& first) {
  for (size_t i = 0; i < std::min<size_t>(words.size(), 2); ++i) {
    const std::string_view word =
        i == 0 ? std::string_view(words[0]).substr(words[0].rfind('/') + 1) : words[i];
    for (const std::string_view tool : {"msprobe", "msit", "ait"})
      if (word == tool) {
        first = i + 1;
        return tool;
      }
  }
  return {};
}

std::string command_line(Words words) {
  size_t first = 0;
  const std::string_view tool = tool_stood_for(words, first);
  std::string line(first == 1 ? tool : "assay");
  for (const std::string& word : words.subspan(1)) line += " " + shell_word(printable(word));
  return line;
}

std::string version_text() {
  return fmt::format("assay {}{}", kVersion, *kCommit == '\0' ? "" : fmt::format(" ({})", kCommit));
}

// Whatever was printed must have arrived; a reader that went away (a closed pipe) is not our trouble.
Result<int> finish(int code) {
  auto arrived = console::flush();
  if (arrived || arrived.error().kind == ErrorKind::cancelled) return code;
  return tl::unexpected(std::move(arrived.error()));
}

std::vector<std::string> names_of_commands(const CLI::App& app) {
  std::vector<std::string> names = {"help", "msprobe", "msit", "ait"};
  for (const CLI::App* each : app.get_subcommands({})) names.push_back(each->get_name());
  return names;
}

const CLI::App* find_command(const CLI::App& app, std::string_view name) {
  for (const CLI::App* each : app.get_subcommands({}))
    if (each->get_name() == name) return each;
  return nullptr;
}

// Whether the parser found a word where flags alone are expected: "... not expected: run.sh --fast".
bool has_stray_word(std::string_view message) {
  constexpr std::string_view kBefore = "not expected: ";
  const size_t begin = message.find(kBefore);
  return begin != std::string_view::npos &&
         std::ranges::any_of(split(message.substr(begin + kBefore.size()), ' '),
                             [](std::string_view word) { return !word.empty() && word[0] != '-'; });
}

bool starts_programs(std::string_view verb) {
  return verb == "dump" || verb == "errcheck" || verb == "capture";
}

std::string hint_at_child(std::string_view message, std::string_view verb) {
  if (!starts_programs(verb) || !has_stray_word(message)) return {};
  return fmt::format("; a program to run stands behind --, as in 'assay {} -- bash run.sh'", verb);
}

// What a message of the parser leaves open: which flag was meant, or what it takes.
std::string hint_for(std::string_view message, const CLI::App& command) {
  if (message.starts_with("--match:")) {
    std::vector<std::string_view> known;
    for (const Matcher* each : matchers()) known.push_back(each->name);
    return fmt::format("; it takes one of {}", fmt::join(known, ", "));
  }
  const size_t flag = message.find(" --");
  if (flag == std::string_view::npos) return {};
  std::string_view word = message.substr(flag + 1);
  word = word.substr(0, word.find_first_of(" ="));
  std::vector<std::string> known = {"--verbose", "--version", "--help"};
  for (const CLI::Option* option : command.get_options({}))
    for (const std::string& name : option->get_lnames()) known.push_back("--" + name);
  return did_you_mean(word, known);
}

// Where a flag stands without the value that it may have, a word behind it is left over.
std::string hint_at_value_apart(Words words) {
  for (size_t i = 1; i < words.size(); ++i)
    if (may_stand_alone(words[i - 1]) && !words[i].starts_with('-'))
      return fmt::format("; a value of {0} stands behind =, as in {0}={1}", words[i - 1],
                         printable(words[i]));
  return {};
}

// "assay help compare" is "assay compare --help".
std::vector<std::string> with_help_asked(std::vector<std::string> arguments) {
  if (arguments.empty() || arguments[0] != "help") return arguments;
  if (arguments.size() == 1) return {"--help"};
  return {arguments[1], "--help"};
}

// Behind -- stands the program that `dump`, `capture` and `errcheck` start: its words are its own. They are
// taken from `words`.
std::vector<std::string> take_child(Words& words) {
  const auto end = std::ranges::find(words, "--");
  const auto verb =
      std::find_if(words.begin() + 1, end, [](const auto& word) { return !word.starts_with('-'); });
  if (end == words.end() || verb == end || !starts_programs(*verb)) return {};
  std::vector<std::string> child(end + 1, words.end());
  words = words.first(static_cast<size_t>(end - words.begin()));
  return child;
}

Result<int> no_such_command(const std::string& word, const CLI::App& app) {
  return fail(ErrorKind::bad_argument, "there is no command '{}'{}; see 'assay --help'", printable(word),
              did_you_mean(word, names_of_commands(app)));
}

Result<int> wrong_words(const CLI::ParseError& error, Words words, bool has_child, const CLI::App& app) {
  const bool names_command = words.size() > 1 && !words[1].starts_with('-');
  const CLI::App* const command = names_command ? find_command(app, words[1]) : nullptr;
  if (names_command && command == nullptr) return no_such_command(words[1], app);
  return fail(ErrorKind::bad_argument, "{}{}{}{}; see 'assay{} --help'", error.what(),
              hint_for(error.what(), command != nullptr ? *command : app),
              has_stray_word(error.what()) ? hint_at_value_apart(words) : "",
              has_child || !names_command ? "" : hint_at_child(error.what(), words[1]),
              names_command ? " " + words[1] : "");
}

int run_tool(std::string_view tool, Words words, const Context& context) {
  if (tool == "msprobe") return run_msprobe(words, context);
  return run_msit(words, tool == "msit" ? Tool::msit : Tool::ait, context);
}

}  // namespace

Result<int> run_program(Words words) {
  ASSAY_TRY(const Moment now, read_clock());
  Context context{now, command_line(words)};
  size_t first = 0;
  if (const std::string_view tool = tool_stood_for(words, first); !tool.empty())
    return finish(run_tool(tool, words.subspan(first), context));
  const std::string of_tool = words.size() > 2 && words[1] == "help" ? words[2] : "";
  if (of_tool == "msprobe" || of_tool == "msit" || of_tool == "ait")
    return finish(run_tool(of_tool, std::vector<std::string>{"--help"}, context));
  context.child = take_child(words);
  Action action;
  CLI::App app{"Assay says where two runs of a model part: which tensor diverged first, and by how much.",
               "assay"};
  app.set_version_flag("--version", version_text(), "Print the version and exit");
  app.require_subcommand(1);
  app.get_formatter()->column_width(26);
  bool verbose = false;
  app.add_flag("-v,--verbose", verbose, "Explain decisions on stderr");
  app.fallthrough();
  add_compare(app, context, action);
  add_opcheck(app, context, action);
  add_errcheck(app, context, action);
  add_explain(app, action);
  add_dump(app, context, action);
  add_capture(app, context, action);
  add_recover(app, context, action);
  add_inspect(app, context, action);
  add_convert(app, context, action);
  add_compact(app, context, action);
  add_topology(app, context, action);
  add_doctor(app, context, action);
  add_view(app, context, action);
  add_demo(app, context, action);
  app.footer(
      "Examples:\n  assay compare mine.pt golden.npy\n  assay demo\n'assay help COMMAND' tells more.\n"
      "'assay msprobe ...', 'assay msit llm ...' take the command lines of those tools (docs/scenarios).");
  if (words.size() > 2 && words[1] == "help" && find_command(app, words[2]) == nullptr)
    return no_such_command(words[2], app);
  try {
    std::vector<std::string> arguments = with_help_asked({words.begin() + 1, words.end()});
    settle_bare_flags(arguments);
    std::reverse(arguments.begin(), arguments.end());  // as CLI11 wants them
    app.parse(std::move(arguments));
  } catch (const CLI::Success& done) {  // --help, --version
    std::ostringstream text;
    const int code = app.exit(done, text, text);
    static_cast<void>(console::write_text(console::Stream::out, text.str()));
    return finish(code);
  } catch (const CLI::ParseError& error) {
    return wrong_words(error, words, !context.child.empty(), app);
  }
  if (verbose) log::set_level(log::Level::debug);
  ASSAY_TRY(const int code, action());
  return finish(code);
}

}  // namespace assay::cli

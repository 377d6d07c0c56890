// The `assay` program.
#include "assay/base/cancel.h"
#include "assay/base/console.h"
#include "assay/base/shell_word.h"
#include "assay/base/text.h"
#include "assay/format/open_files.h"
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
#include <csignal>
#include <new>
#include <sstream>

namespace assay::cli {
namespace {

constexpr int kTrouble = 2;

// The tool that is stood for: assay was called by its name (a link), or with it as the first word. Empty:
// none. first: the place of the first argument that is the tool's own.
std::string_view tool_stood_for(int argc, char** argv, int& first) {
  const std::string_view path = argv[0];
  const std::array<std::string_view, 2> words = {path.substr(path.rfind('/') + 1),
                                                 argc > 1 ? std::string_view(argv[1]) : std::string_view()};
  for (size_t i = 0; i < words.size(); ++i)
    for (const std::string_view tool : {"msprobe", "msit", "ait"})
      if (words[i] == tool) {
        first = static_cast<int>(i) + 1;
        return tool;
      }
  return {};
}

std::string command_line(int argc, char** argv) {
  int first = 0;
  const std::string_view tool = tool_stood_for(argc, argv, first);
  std::string line(first == 1 ? tool : "assay");
  for (int i = 1; i < argc; ++i) line += " " + shell_word(printable(argv[i]));
  return line;
}

std::string version_text() {
  return fmt::format("assay {}{}", kVersion, *kCommit == '\0' ? "" : fmt::format(" ({})", kCommit));
}

int complain(std::string_view message) {
  static_cast<void>(console::write_line(console::Stream::err, fmt::format("assay: {}", message)));
  return kTrouble;
}

// Whatever was printed must have arrived; a reader that went away (a closed pipe) is not our trouble.
int finish(int code) {
  const auto arrived = console::flush();
  if (arrived || arrived.error().kind == ErrorKind::cancelled) return code;
  return complain(arrived.error().message);
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

// "assay help compare" is "assay compare --help".
std::vector<std::string> with_help_asked(std::vector<std::string> arguments) {
  if (arguments.empty() || arguments[0] != "help") return arguments;
  if (arguments.size() == 1) return {"--help"};
  return {arguments[1], "--help"};
}

// Behind -- stands the program that `dump` and `errcheck` start: its words are its own. argc ends before
// them.
std::vector<std::string> take_child(int& argc, char** argv) {
  for (int i = 1; i < argc; ++i) {
    if (std::string_view(argv[i]) != "--") continue;
    const auto is_verb = [](const char* word) {
      return std::string_view(word) == "dump" || std::string_view(word) == "errcheck";
    };
    if (std::none_of(argv + 1, argv + i, is_verb)) return {};
    std::vector<std::string> words(argv + i + 1, argv + argc);
    argc = i;
    return words;
  }
  return {};
}

int run(int argc, char** argv) {
  const auto now = read_clock();
  if (!now) return complain(now.error().message);
  Context context{*now, command_line(argc, argv)};
  int first = 0;
  if (const std::string_view tool = tool_stood_for(argc, argv, first); !tool.empty()) {
    const std::vector<std::string> arguments(argv + first, argv + argc);
    if (tool == "msprobe") return finish(run_msprobe(arguments, context));
    return finish(run_msit(arguments, tool == "msit" ? Tool::msit : Tool::ait, context));
  }
  const std::string_view of_tool = argc > 2 && std::string_view(argv[1]) == "help" ? argv[2] : "";
  if (of_tool == "msprobe") return finish(run_msprobe(std::vector<std::string>{"--help"}, context));
  if (of_tool == "msit" || of_tool == "ait")
    return finish(
        run_msit(std::vector<std::string>{"--help"}, of_tool == "msit" ? Tool::msit : Tool::ait, context));
  context.child = take_child(argc, argv);
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
  add_dump(app, context, action);
  add_inspect(app, context, action);
  add_convert(app, context, action);
  add_compact(app, context, action);
  add_topology(app, context, action);
  add_doctor(app, context, action);
  add_demo(app, context, action);
  app.footer(
      "Examples:\n  assay compare mine.pt golden.npy\n  assay demo\n'assay help COMMAND' tells more.\n"
      "'assay msprobe ...', 'assay msit llm ...' take the command lines of those tools (docs/scenarios).");
  if (argc > 2 && std::string_view(argv[1]) == "help" && find_command(app, argv[2]) == nullptr)
    return complain(fmt::format("there is no command '{}'{}; see 'assay --help'", printable(argv[2]),
                                did_you_mean(argv[2], names_of_commands(app))));
  try {
    std::vector<std::string> arguments = with_help_asked({argv + 1, argv + argc});
    settle_bare_flags(arguments);
    std::reverse(arguments.begin(), arguments.end());  // as CLI11 wants them
    app.parse(std::move(arguments));
  } catch (const CLI::Success& done) {  // --help, --version
    std::ostringstream text;
    const int code = app.exit(done, text, text);
    static_cast<void>(console::write_text(console::Stream::out, text.str()));
    return finish(code);
  } catch (const CLI::ParseError& error) {
    const bool names_command = argc > 1 && argv[1][0] != '-';
    const CLI::App* const command = names_command ? find_command(app, argv[1]) : nullptr;
    if (names_command && command == nullptr)
      return complain(fmt::format("there is no command '{}'{}; see 'assay --help'", printable(argv[1]),
                                  did_you_mean(argv[1], names_of_commands(app))));
    return complain(fmt::format("{}{}; see 'assay{} --help'", error.what(),
                                hint_for(error.what(), command != nullptr ? *command : app),
                                names_command ? " " + std::string(argv[1]) : ""));
  }
  if (verbose) log::set_level(log::Level::debug);
  const Result<int> code = action();
  if (!code) return complain(code.error().message);
  return finish(*code);
}

}  // namespace
}  // namespace assay::cli

int main(int argc, char** argv) {
  assay::console::hold_standard_streams();
  assay::catch_interrupts();
  assay::raise_limit_of_open_files();
  std::signal(SIGPIPE, SIG_IGN);  // a closed pipe shows as an error of the write,
  std::signal(SIGXFSZ, SIG_IGN);  // and so does a file that grows beyond what `ulimit -f` allows
  try {
    return assay::cli::run(argc, argv);
  } catch (const std::bad_alloc&) {
    return assay::cli::complain("out of memory; pass --threads 1 or a smaller --memory");
  }
}

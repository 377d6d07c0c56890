#include "cli/run_flags.h"

#include "assay/base/caller.h"
#include "assay/base/console.h"
#include "assay/base/text.h"

#include <CLI/CLI.hpp>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

namespace assay::cli {

void add_run_flags(CLI::App& command, RunFlags& flags) {
  command.add_option("--report", flags.report, "csv xlsx json jsonl junit sqlite html, or terminal")
      ->type_name("NAME,..")
      ->allow_extra_args(false);
  command.add_option("--output", flags.output, "Folder for reports (default: .); - is stdout")
      ->type_name("DIR");
  command.add_option("--color", flags.color, "auto, always or never (default: auto)")
      ->type_name("WHEN")
      ->check(CLI::IsMember({"auto", "always", "never"}).description(""))
      ->group("Running");
  command.add_flag("-q,--quiet", flags.quiet, "No terminal report, no progress");
  command.add_option("--memory", flags.memory, "For what must be held (default: RAM/4, max 8GiB)")
      ->type_name("SIZE")
      ->group("Running");
  command.add_option("--threads", flags.threads, "Threads (default 0: all cores)")
      ->type_name("N")
      ->check(CLI::Range(0, 4096).description(""))
      ->group("Running");
}

bool RunFlags::writes(std::string_view name) const {
  const std::vector<std::string> names = split_list(report);
  return std::ranges::find(names, name) != names.end();
}

bool RunFlags::shows_rows() const {
  const Caller* const caller = current_caller();
  return !quiet || !report.empty() || !output.empty() || (caller != nullptr && caller->takes_rows());
}

void set_run(const RunFlags& flags, const Context& context, CompareRequest& request) {
  request.threads = flags.threads;
  request.now = context.now;
  request.version = kVersion;
  request.command_line = context.command_line;
  request.terminal_width = console::width();
  request.wraps_verdict = console::has_width();
  request.colour =
      flags.color == "always" || (flags.color == "auto" && console::takes_colours(console::Stream::out));
  request.progress = !flags.quiet;
  request.open.within = flags.writes("html") || flags.writes("sqlite");  // pictures show them
}

std::string given_text(std::vector<std::pair<std::string_view, std::vector<std::string>>> flags) {
  constexpr size_t kMostBytes = 120;
  std::string text;
  for (const auto& [flag, patterns] : flags) {
    if (patterns.empty()) continue;
    std::string list = printable(fmt::format("{}", fmt::join(patterns, ",")));
    if (list.size() > kMostBytes)
      list = fmt::format("{}…", printable(std::string_view(list).substr(0, kMostBytes)));
    text += fmt::format("{}{} '{}'", text.empty() ? "" : " ", flag, list);
  }
  return text;
}

}  // namespace assay::cli

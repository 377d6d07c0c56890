#include "assay/run/inspect/details.h"

#include "assay/base/cancel.h"
#include "assay/base/console.h"
#include "assay/base/text.h"
#include "cli/commands.h"
#include "cli/grouped_help.h"
#include "cli/open_flags.h"
#include "cli/patterns.h"

#include <CLI/CLI.hpp>

#include <memory>

namespace assay::cli {
namespace {

struct InspectFlags {
  std::vector<std::string> paths, only, skip;
  std::string layout, dtype, shape, offset, slice, memory;
  std::string map;
  bool json = false, values = false, names = false, detail = false, trusted = false;
  int threads = 0;
};

Result<void> write_text(std::string_view text) { return console::write_text(console::Stream::out, text); }

Result<InspectRequest> request_of(const InspectFlags& flags) {
  InspectRequest request;
  request.paths.assign(flags.paths.begin(), flags.paths.end());
  request.open.layout = flags.layout;
  ASSAY_TRY_DO(choose_tensors(flags.only, flags.skip, request.open));
  ASSAY_TRY_DO(describe_raw(flags.dtype, flags.shape, flags.offset, request.open.format));
  ASSAY_TRY_DO(limit_files(flags.memory, flags.threads, flags.trusted, request.open.format));
  ASSAY_TRY_DO(check_raw_is_meant(request.paths, "--dtype", request.open.format));
  request.threads = flags.threads;
  return request;
}

// "1,3": dimensions counted from the front.
Result<void> choose_map(const std::string& text, DetailRequest& request) {
  if (text.empty()) return {};
  const auto words = split(text, ',');
  const auto rows = parse_int(trim(words.front())), columns = parse_int(trim(words.back()));
  constexpr int64_t kMost = 1000;
  const auto is_dimension = [](const std::optional<int64_t>& each) {
    return each && *each >= 0 && *each < kMost;
  };
  if (words.size() != 2 || !is_dimension(rows) || !is_dimension(columns) || *rows == *columns)
    return fail(ErrorKind::bad_argument, "--map: '{}' are not two dimensions; write them as 1,3",
                printable(text));
  request.map_rows = static_cast<int>(*rows);
  request.map_columns = static_cast<int>(*columns);
  return {};
}

Result<int> run_details(const InspectFlags& flags, InspectRequest&& request) {
  if (flags.paths.size() != 2)
    return fail(ErrorKind::bad_argument, "--detail looks at mine against golden: give two paths");
  if (flags.names || flags.values)
    return fail(ErrorKind::bad_argument, "--detail shows pictures of two sides; leave out {}",
                flags.names ? "--names" : "--values");
  DetailRequest wanted;
  wanted.mine = flags.paths[0];
  wanted.golden = flags.paths[1];
  wanted.open = std::move(request.open);
  wanted.slice = std::move(request.slice);
  wanted.threads = request.threads;
  wanted.progress = true;
  wanted.width = console::width();
  wanted.shades = console::takes_unicode() ? Shades::unicode : Shades::ascii;
  ASSAY_TRY_DO(choose_map(flags.map, wanted));
  const WriteText write = flags.json ? WriteText(console::write_report) : WriteText(write_text);
  auto summary = inspect_details(wanted, flags.json, write);
  if (summary) warn_of_patterns_in_vain(wanted.open);
  if (summary) return summary->troubles > 0 ? 2 : 0;
  if (summary.error().kind == ErrorKind::cancelled && !cancelled()) return 0;
  return tl::unexpected(summary.error());
}

Result<int> run_inspect(const InspectFlags& flags) {
  ASSAY_TRY(InspectRequest request, request_of(flags));
  if (flags.names && (flags.values || !flags.slice.empty()))
    return fail(ErrorKind::bad_argument, "--names reads no data; leave out {}",
                flags.values ? "--values" : "--slice");
  if (!flags.slice.empty()) {
    ASSAY_TRY(request.slice, parse_slice(flags.slice));
  }
  if (!flags.map.empty() && !flags.detail)
    return fail(ErrorKind::bad_argument, "--map is of the pictures that --detail shows");
  if (flags.detail) return run_details(flags, std::move(request));
  request.open.format.values = true;
  request.open.warm_up = true;
  request.names = flags.names;
  request.values = flags.values;
  request.progress = !console::is_terminal(console::Stream::out);  // a growing list is progress enough
  const auto sink = flags.json ? inspect_as_json(console::write_report) : inspect_as_text(write_text);
  const auto summary = inspect(request, *sink);
  if (summary) warn_of_patterns_in_vain(request.open);
  if (summary) return summary->troubles > 0 ? 2 : 0;
  // A reader that has seen enough (`| head`) is no trouble; Ctrl-C is.
  if (summary.error().kind == ErrorKind::cancelled && !cancelled()) return 0;
  return tl::unexpected(summary.error());
}

void add_open_flags(CLI::App* command, const std::shared_ptr<InspectFlags>& flags) {
  add_choice_flags(*command, "tensors", "name", flags->only, flags->skip);
  command->add_option("--layout", flags->layout, "As of compare (default: recognised)")->type_name("NAME");
  command->add_option("--dtype", flags->dtype, "Element type of raw files, e.g. bf16")->type_name("D");
  command->add_option("--shape", flags->shape, "Shape of raw files (default: flat)")->type_name("2,3");
  command->add_option("--offset", flags->offset, "Where the elements of raw files begin (0)")
      ->type_name("BYTES");
  command->add_option("--memory", flags->memory, "For what must be held (default: RAM/4, max 8GiB)")
      ->type_name("SIZE");
  command->add_option("--threads", flags->threads, "Threads (default 0: all cores)")
      ->type_name("N")
      ->check(CLI::Range(0, 4096).description(""));
  command->add_flag("--trusted", flags->trusted, kTrustedHelp);
}

}  // namespace

Result<InspectRequest> read_open_flags(const std::string& path, std::span<const std::string> words) {
  const auto flags = std::make_shared<InspectFlags>();
  flags->paths = {path};
  CLI::App app;
  app.set_help_flag();
  add_open_flags(&app, flags);
  try {
    app.parse(std::vector<std::string>(words.rbegin(), words.rend()));
  } catch (const CLI::ParseError& error) {
    return fail(ErrorKind::bad_argument, "{}", error.what());
  }
  return request_of(*flags);
}

void add_inspect(CLI::App& app, const Context&, Action& action) {
  const auto flags = std::make_shared<InspectFlags>();
  CLI::App* const command = app.add_subcommand("inspect", "Show what tensor files and folders hold");
  command->add_option("path", flags->paths, "Files or folders")->required()->type_name("");
  command->add_flag("--values", flags->values, "Print the elements too, as NumPy does");
  command->add_flag("--names", flags->names, "Names, types and shapes alone; reads no data");
  command->add_option("--slice", flags->slice, "This part alone, with its values: '[0, :, 3]'")
      ->type_name("[I,J:K]");
  command->add_flag("--detail", flags->detail, "Of MINE and GOLDEN: what their difference looks like");
  command->add_option("--map", flags->map, "Dimensions of its block map (default: the last two)")
      ->type_name("ROWS,COLS");
  command->add_flag("--json", flags->json, "Print a JSON array (docs/inspect.md)");
  add_open_flags(command, flags);
  command->footer(
      "Exit code: 0, or 2 if something could not be read.\n"
      "Examples:\n"
      "  assay inspect model.safetensors --only '*.weight'\n"
      "  assay inspect mine.pt golden.npy --detail");
  command->callback([flags, &action] { action = [flags] { return run_inspect(*flags); }; });
}

}  // namespace assay::cli

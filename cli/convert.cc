#include "assay/run/convert/convert.h"

#include "assay/base/console.h"
#include "cli/commands.h"
#include "cli/grouped_help.h"
#include "cli/new_folder.h"
#include "cli/patterns.h"

#include <CLI/CLI.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <memory>

namespace assay::cli {
namespace {

struct ConvertFlags {
  std::string in, out, to, dtype, layout = "nd", raw_dtype, raw_shape, raw_offset, memory;
  std::vector<std::string> only, skip;
  bool force = false, trusted = false, all_dtypes = false, quiet = false;
};

// What the flags of this command are called: formats speak of those of compare and inspect.
std::string in_own_flags(std::string message) {
  constexpr std::string_view kTheirs = "pass --dtype and --shape";
  if (const size_t at = message.find(kTheirs); at != std::string::npos)
    message.replace(at, kTheirs.size(), "pass --raw-dtype and --raw-shape");
  return message;
}

std::string tensors_in_words(int64_t count) {
  return fmt::format("{} tensor{}", count, count == 1 ? "" : "s");
}

// What was written, what was changed on the way and what was left behind.
void say(const ConvertRequest& request, const ConvertOutcome& outcome) {
  std::string text = fmt::format("{}: {}", display(request.out), tensors_in_words(outcome.tensors));
  if (outcome.values > 0)
    text += fmt::format(", {} value{} beside them", outcome.values, outcome.values == 1 ? "" : "s");
  if (outcome.files > 1) text += fmt::format(" in {} files", outcome.files);
  for (const auto& [types, count] : outcome.changed)
    text += fmt::format("; {} from {} to {}", count, name(types.first), name(types.second));
  if (outcome.kept_integers > 0)
    text += fmt::format("; {} of integers or bool left as they are (--all-dtypes changes them)",
                        outcome.kept_integers);
  console::print(console::Stream::err, "assay: wrote {}\n", text);
  constexpr size_t kMost = 8;
  if (!outcome.overflowed.empty()) {
    const std::vector<std::string>& names = outcome.overflowed;
    std::string list;
    for (size_t i = 0; i < std::min(names.size(), kMost); ++i)
      list += (i == 0 ? "" : ", ") + printable(names[i]);
    if (names.size() > kMost) list += fmt::format(" and {} more", names.size() - kMost);
    console::print(console::Stream::err,
                   "assay: warning: numbers too large for the new type are infinite or NaN now, in {}: {}\n",
                   tensors_in_words(std::ssize(names)), list);
  }
  for (size_t i = 0; i < std::min(outcome.dropped.size(), kMost); ++i)
    console::print(console::Stream::err, "assay: not written: {}\n", outcome.dropped[i]);
  if (outcome.dropped.size() > kMost)
    console::print(console::Stream::err, "assay: not written: {} things more\n",
                   outcome.dropped.size() - kMost);
}

Result<int> run_convert(const ConvertFlags& flags) {
  const NewFolder folder(fs::path(flags.out));
  ConvertRequest request;
  request.in = flags.in;
  request.out = flags.out;
  request.out_is_folder = flags.out.ends_with('/');
  request.to = flags.to;
  request.force = flags.force;
  request.progress = true;
  ASSAY_TRY_DO(choose_tensors(flags.only, flags.skip, request.open));
  if (!flags.dtype.empty()) {
    ASSAY_TRY(request.dtype, parse_dtype(flags.dtype));
  }
  if (!flags.raw_dtype.empty()) {
    ASSAY_TRY(request.open.format.raw_dtype, parse_dtype(flags.raw_dtype));
  }
  if (!flags.raw_shape.empty()) {
    if (flags.raw_dtype.empty())
      return fail(ErrorKind::bad_argument, "--raw-shape needs --raw-dtype beside it");
    ASSAY_TRY(request.open.format.raw_shape, parse_shape(flags.raw_shape));
  }
  if (!flags.raw_offset.empty()) {
    const auto bytes = parse_size(flags.raw_offset);
    if (!bytes || *bytes < 0 || flags.raw_dtype.empty())
      return fail(ErrorKind::bad_argument,
                  "--raw-offset: is a number of bytes, and needs --raw-dtype beside it");
    request.open.format.raw_offset = *bytes;
  }
  request.all_dtypes = flags.all_dtypes;
  if (flags.all_dtypes && !request.dtype)
    return fail(ErrorKind::bad_argument, "--all-dtypes needs --dtype beside it");
  ASSAY_TRY_DO(limit_files(flags.memory, 1, flags.trusted, request.open.format));
  ASSAY_TRY_DO(check_raw_is_meant(std::span(&request.in, 1), "--raw-dtype", request.open.format));
  const auto converted = convert(request);
  if (!converted) return fail(converted.error().kind, "{}", in_own_flags(converted.error().message));
  const ConvertOutcome& outcome = *converted;
  warn_of_patterns_in_vain(request.open);
  for (const std::string& failure : outcome.failures)
    console::print(console::Stream::err, "assay: {}\n", in_own_flags(failure));
  if (!flags.quiet) say(request, outcome);
  return outcome.failures.empty() ? 0 : 2;
}

}  // namespace

void add_convert(CLI::App& app, const Context&, Action& action) {
  const auto flags = std::make_shared<ConvertFlags>();
  CLI::App* const command = app.add_subcommand("convert", "Write tensors in another format");
  command->add_option("in", flags->in, "A tensor file, or a folder of them")->required()->type_name("");
  command->add_option("out", flags->out, "x.npy .npz .pt .safetensors .bin, or folder/")
      ->required()
      ->type_name("");
  command->add_option("--to", flags->to, "Format in a folder (default npy)")->type_name("npy|pt|...");
  command->add_option("--dtype", flags->dtype, "New element type (default: as it is)")->type_name("D");
  command->add_flag("--all-dtypes", flags->all_dtypes, "... of integers and bool too, to a real type");
  command->add_option("--layout", flags->layout, "Order of elements (default nd: row-major)")
      ->type_name("nd")
      ->check(CLI::IsMember({"nd"}).description(""));
  command->add_flag("--force", flags->force, "Replace what exists (default: refuse)");
  add_choice_flags(*command, "tensors", "name", flags->only, flags->skip);
  command->add_option("--raw-dtype", flags->raw_dtype, "The input is raw elements of this type")
      ->type_name("D");
  command->add_option("--raw-shape", flags->raw_shape, "Shape of a raw input (default: flat)")
      ->type_name("2,3");
  command->add_option("--raw-offset", flags->raw_offset, "Where a raw input begins (0)")->type_name("BYTES");
  command->add_option("--memory", flags->memory, "For what must be held (default: RAM/4, max 8GiB)")
      ->type_name("SIZE");
  command->add_flag("--trusted", flags->trusted, kTrustedHelp);
  command->add_flag("-q,--quiet", flags->quiet, "Do not say what was written");
  command->footer(
      "Exit code: 0, or 2 if something could not be converted.\n"
      "Examples:\n"
      "  assay convert model.pt model.safetensors --dtype f32\n"
      "  assay convert dump_pt/ dump_npy/ --to npy");
  command->callback([flags, &action] { action = [flags] { return run_convert(*flags); }; });
}

}  // namespace assay::cli

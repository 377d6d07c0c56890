#include "assay/run/convert/convert.h"

#include "assay/base/console.h"
#include "assay/run/resources.h"
#include "assay/support/log.h"
#include "cli/commands.h"
#include "cli/grouped_help.h"
#include "cli/patterns.h"

#include <CLI/CLI.hpp>

#include <memory>

namespace assay::cli {
namespace {

struct ConvertFlags {
  std::string in, out, to, dtype, layout = "nd", raw_dtype, raw_shape;
  std::vector<std::string> only, skip;
  bool force = false, trusted = false;
};

Result<int> run_convert(const ConvertFlags& flags) {
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
  limit_files(request.open.format, 0, 1, flags.trusted);
  ASSAY_TRY(const ConvertOutcome outcome, convert(request));
  warn_of_patterns_in_vain(request.open);
  for (const std::string& failure : outcome.failures)
    console::print(console::Stream::err, "assay: {}\n", failure);
  log::info("converted {} tensors into {} files; {} could not be converted", outcome.tensors, outcome.files,
            outcome.failures.size());
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
  command->add_option("--layout", flags->layout, "Order of elements (default nd: row-major)")
      ->type_name("nd")
      ->check(CLI::IsMember({"nd"}).description(""));
  command->add_flag("--force", flags->force, "Replace what exists (default: refuse)");
  add_choice_flags(*command, "tensors", "name", flags->only, flags->skip);
  command->add_option("--raw-dtype", flags->raw_dtype, "The input is raw elements of this type")
      ->type_name("D");
  command->add_option("--raw-shape", flags->raw_shape, "Shape of a raw input (default: flat)")
      ->type_name("2,3");
  command->add_flag("--trusted", flags->trusted, kTrustedHelp);
  command->footer(
      "Exit code: 0, or 2 if something could not be converted.\n"
      "Examples:\n"
      "  assay convert model.pt model.safetensors --dtype f32\n"
      "  assay convert dump_pt/ dump_npy/ --to npy");
  command->callback([flags, &action] { action = [flags] { return run_convert(*flags); }; });
}

}  // namespace assay::cli

#include "cli/msprobe/parse.h"

#include "assay/base/text.h"
#include "assay/run/convert/convert.h"
#include "assay/run/resources.h"
#include "assay/support/log.h"

namespace assay::cli {

using Takes = ForeignFlag::Takes;

ForeignCommand msprobe_parse_command() {
  return {"msprobe parse",
          {{{"-d", "--dump_path"}, Takes::one, "<Required> The file path or directory path to parse", true},
           {{"-t", "--type"},
            Takes::one,
            "The file type after parse. Supported types: npy, pt (default: pt)",
            false,
            {"npy", "pt"}},
           {{"-o", "--output_path"}, Takes::perhaps_one, "The output file path after parse"}}};
}

Result<void> run_msprobe_parse(const Parsed& parsed) {
  ConvertRequest request;
  request.in = parsed.value("--dump_path").value_or("");
  std::error_code ignored;
  const bool is_folder = fs::is_directory(request.in, ignored);
  if (!is_folder && !fs::exists(request.in, ignored))
    return fail(ErrorKind::not_found,
                "The path '{}' does not exist or is not a valid file or directory. Please check the path.",
                display(request.in));
  if (!is_folder && !to_lower(request.in.native()).ends_with(".bin"))
    return fail(ErrorKind::unsupported,
                "{}: only .bin files of ATB are parsed here; 'assay convert' reads the other kinds of dumps",
                display(request.in));
  request.out = parsed.value("--output_path").value_or("./output");
  request.out_is_folder = true;
  request.to = parsed.value("--type").value_or("pt");
  request.widen_bf16 = request.to == "npy";  // numpy has no bf16
  request.force = true;                      // the original replaces files of an earlier call too
  request.open.only = {"*.[bB][iI][nN]", "*.[bB][iI][nN]:*"};
  limit_files(request.open.format, 0, 1);
  request.progress = true;
  log::info("Using ATB dump parser to parse .bin {}", is_folder ? "files in directory" : "file");
  ASSAY_TRY(const ConvertOutcome outcome, convert(request));
  for (const fs::path& file : outcome.replaced)
    log::warn("{}: existed already and was replaced", display(file));
  for (const std::string& failure : outcome.failures)  // without the hint of `assay convert`
    log::error("Failed to parse .bin file {}", failure.substr(0, failure.rfind("; pass --skip")));
  log::info("Saved {} tensors to {}", outcome.tensors, display(request.out));
  if (outcome.failures.empty()) return {};
  return fail(ErrorKind::bad_format, "{} of the .bin files in {} could not be parsed",
              outcome.failures.size(), display(request.in));
}

}  // namespace assay::cli

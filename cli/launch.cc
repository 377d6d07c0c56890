#include "cli/launch.h"

#include "assay/base/console.h"
#include "assay/base/text.h"
#include "assay/run/launch/after_dump.h"
#include "assay/run/launch/atb_place.h"
#include "assay/run/launch/overflow_report.h"
#include "assay/support/log.h"

#include <unistd.h>

#include <algorithm>
#include <ctime>

namespace assay::cli {
namespace {

std::string how_it_ended(const ChildEnd& end) {
  if (end.signal != 0) return fmt::format("the program was ended by signal {}\n", end.signal);
  return end.status == 0 ? std::string() : fmt::format("the program ended with status {}\n", end.status);
}

// The real time, whatever ASSAY_NOW says, of the clock that files are dated by.
timespec time_of_start() {
  timespec now{};
  ::clock_gettime(CLOCK_REALTIME_COARSE, &now);
  return now;
}

// A program that was ended from outside could not tell its last count.
std::string text_of(const SpoiltInputs& inputs, bool is_exact) {
  return fmt::format("{}{} that came from outside hold{} NaN or infinities; the first: {}\n",
                     is_exact ? "" : "at least ",
                     inputs.count == 1 ? "1 input" : fmt::format("{} inputs", inputs.count),
                     inputs.count == 1 ? "s" : "", printable(inputs.first));
}

}  // namespace

void say(std::string_view text) { static_cast<void>(console::write_text(console::Stream::err, text)); }

int run_recorded(const std::vector<std::string>& command, const std::vector<EnvironmentChange>& environment) {
  static_cast<void>(console::flush());
  const auto end = run_child(command, environment);
  if (!end) {
    log::error("{}", end.error().message);
    return end.error().kind == ErrorKind::not_found ? 127 : 126;
  }
  say(how_it_ended(*end));
  return end->status;
}

Result<int> run_dump(const DumpSettings& settings, const std::vector<std::string>& command,
                     const Context& context) {
  ASSAY_TRY_DO(check_may_start(command));
  ASSAY_TRY(const fs::path probe, find_probe());
  ASSAY_TRY_DO(check_output(settings.output));
  ASSAY_TRY_DO(check_room(settings.output));
  ASSAY_TRY(const DumpRun run, begin_run(settings, context.now));
  if (settings.has("onnx")) ASSAY_TRY_DO(make_folder(list_of_topologies(settings, run.process)));
  const int status = run_recorded(command, environment_of(settings, probe, run));
  leave_ranks(run.ranks);
  const DumpOutcome outcome = finish_dump(settings, run);
  for (const std::string& warning : outcome.warnings) log::warn("{}", warning);
  if (status != 126 && status != 127) say(text_of(outcome));
  return status;
}

Result<CheckedRun> run_check(const fs::path& output, bool stops, std::string_view log_level,
                             const std::vector<std::string>& command) {
  ASSAY_TRY_DO(check_may_start(command));
  ASSAY_TRY(const fs::path probe, find_probe());
  ASSAY_TRY_DO(check_output(output));
  const fs::path folder = fs::absolute(output / ".").lexically_normal().parent_path();
  const fs::path asked = folder / fmt::format(".assay_asked_{}", ::getpid());
  std::error_code is_not_there;
  fs::remove(asked, is_not_there);  // of a process that had our number, and was killed
  if (fs::exists(fs::symlink_status(asked, is_not_there)))
    return fail(ErrorKind::io,
                "{}: is in the way of a file that tells whether the probe was asked; remove it",
                display(asked));
  const timespec started = time_of_start();
  CheckedRun run;
  run.status = run_recorded(command, environment_of_check(output, stops, log_level, probe, asked));
  const SpoiltInputs spoilt = read_spoilt_inputs(asked);
  run.has_spoilt_inputs = spoilt.count > 0;
  const fs::file_status mark = fs::symlink_status(asked, is_not_there);
  run.was_asked = fs::is_regular_file(mark);
  fs::remove(asked, is_not_there);
  if (run.status == 126 || run.status == 127) return run;
  const auto reports = read_overflow_reports(output, started);
  run.overflowed =
      std::ranges::any_of(reports, [](const OverflowReport& report) { return report.count > 0; });
  run.is_unknown =
      std::ranges::any_of(reports, [](const OverflowReport& report) { return !report.trouble.empty(); });
  if (run.has_spoilt_inputs) say(text_of(spoilt, run.status == 0));
  if (!reports.empty())
    say(text_of(reports));
  else if (run.was_asked && run.has_spoilt_inputs)
    say("no operator made such numbers of finite ones; where they are meant (a mask), `assay dump` and "
        "`assay "
        "errcheck DUMP --rule 'NAME=ignore'` look past them\n");
  else if (run.was_asked)
    say(run.status == 0 ? "no overflow was found\n" : "no overflow was found up to there\n");
  else if (fs::exists(mark))
    say(fmt::format(
        "whether anything was looked at is not known: {} is no file, so the probe could not say so in it\n",
        display(asked)));
  else
    say("nothing was looked at: the program never asked the probe; it does not run ATB, or finds another "
        "one; "
        "`assay doctor` shows which is meant\n");
  return run;
}

}  // namespace assay::cli

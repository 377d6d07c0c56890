#include "assay/run/launch/torch_capture.h"

#include "assay/base/path_kind.h"
#include "assay/base/shell_word.h"
#include "assay/base/text.h"
#include "assay/run/launch/read_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <set>

namespace assay {
namespace {

// What the recorder tells of each process, a line at a time, and its file while a step is not whole.
constexpr std::string_view kNotes = "capture.txt", kJournal = "dump.jsonl";
constexpr std::string_view kInjected = "_inject";

bool is_step(const fs::path& path) {
  const std::string name = path.filename().native();
  return is_folder(path) && name.starts_with("step") && parse_int(name.substr(4)).has_value();
}

std::vector<fs::path> entries_of(const fs::path& folder) {
  std::vector<fs::path> found;
  std::error_code error;
  for (fs::directory_iterator at(folder, error), end; !error && at != end; at.increment(error))
    found.push_back(at->path());
  std::ranges::sort(found);
  return found;
}

}  // namespace

Result<std::string> read_steps(std::string_view text) {
  std::string steps;
  for (const std::string_view part : split(text, ',')) {
    const std::string_view range = trim(part);
    const size_t dash = range.find('-');
    const auto first = parse_int(range.substr(0, dash));
    const auto last = dash == std::string_view::npos ? first : parse_int(range.substr(dash + 1));
    if (!first || !last || *first < 0 || *last < *first)
      return fail(ErrorKind::bad_argument,
                  "--steps: '{}' is neither a step nor a range of steps, such as 0-2,5", printable(text));
    steps += fmt::format("{}{}-{}", steps.empty() ? "" : ",", *first, *last);
  }
  return steps;
}

Result<fs::path> find_python_package() {
  std::error_code ignored;
  const fs::path program = fs::read_symlink("/proc/self/exe", ignored).parent_path();
  const std::array places = {program / "..", program / "../lib/python3/dist-packages/assay",
                             program / "../../python/assay"};
  for (const fs::path& place : places)
    if (is_file(place / kInjected / "sitecustomize.py")) return fs::canonical(place);
  return fail(ErrorKind::not_found,
              "the Python package was not found: it is neither in {} nor in {}; install the wheel, or the "
              "package of the system",
              display(places[0].lexically_normal()), display(places[1].lexically_normal()));
}

std::vector<EnvironmentChange> environment_of(const TorchCaptureSettings& settings, const fs::path& package) {
  const char* const given = std::getenv("PYTHONPATH");
  const std::string before = given == nullptr ? "" : given;
  const auto flag = [](bool is_set) { return is_set ? std::optional<std::string>("1") : std::nullopt; };
  return {{"PYTHONPATH", (package / kInjected).native() + (before.empty() ? "" : ":" + before)},
          {"ASSAY_CAPTURE", fs::absolute(settings.output).lexically_normal().native()},
          {"ASSAY_CAPTURE_MODULES",
           settings.modules.empty() ? std::nullopt
                                    : std::optional(fmt::format("{}", fmt::join(settings.modules, "\n")))},
          {"ASSAY_CAPTURE_STEPS", settings.steps.empty() ? std::nullopt : std::optional(settings.steps)},
          {"ASSAY_CAPTURE_APIS", flag(settings.functions)},
          {"ASSAY_CAPTURE_STATS", flag(settings.only_statistics)}};
}

Result<void> check_holds_no_dump(const fs::path& output) {
  for (const fs::path& entry : entries_of(output))
    if (is_step(entry) || entry.filename() == kNotes)
      return fail(
          ErrorKind::bad_argument,
          "{}: holds a dump already, and none is added to another; remove it, or give another --output",
          display(output));
  return {};
}

std::string text_of_torch_capture(const fs::path& output) {
  std::set<std::string> ranks;
  std::vector<fs::path> journals;
  size_t steps = 0;
  for (const fs::path& step : entries_of(output)) {
    if (!is_step(step)) continue;
    ++steps;
    for (const fs::path& rank : entries_of(step)) {
      ranks.insert(rank.filename().native());
      if (is_file(rank / kJournal)) journals.push_back(rank);
    }
  }
  std::string text;
  if (const auto notes = read_text(output / kNotes))
    for (const std::string_view note : split(*notes, '\n'))
      if (!note.empty()) text += printable(note) + "\n";
  if (steps == 0)
    return text +
           "nothing was recorded: no module of PyTorch was called by a Python that reads PYTHONPATH (-E and "
           "-I do "
           "not), or nothing fits --modules and --steps\n";
  const std::string dump = shell_word(display(output));
  text += fmt::format("{} of {} in {}\n", steps == 1 ? "1 step" : fmt::format("{} steps", steps),
                      ranks.size() == 1 ? "1 process" : fmt::format("{} processes", ranks.size()), dump);
  if (!journals.empty())
    return text +
           fmt::format("{} ended before it was whole; `assay recover {}` makes a dump of what was recorded\n",
                       journals.size() == 1
                           ? display(journals[0])
                           : fmt::format("{} folders were recorded by programs that", journals.size()),
                       dump);
  return text + fmt::format("next: assay compare {} GOLDEN\n", dump);
}

void remove_notes_of_nothing(const fs::path& output) {
  for (const fs::path& entry : entries_of(output))
    if (is_step(entry)) return;
  std::error_code ignored;
  fs::remove(output / kNotes, ignored);
}

std::string python_of_package() {
  const char* const given = std::getenv("ASSAY_PYTHON");  // of the command that the wheel installed
  return given != nullptr && is_file(given) ? given : "python3";
}

}  // namespace assay

#include "assay/base/console.h"
#include "assay/base/file.h"
#include "assay/base/text.h"
#include "assay/metric/tile_kernels.h"
#include "assay/run/cluster/cluster.h"
#include "assay/run/launch/atb_place.h"
#include "assay/run/resources.h"
#include "assay/support/parallel.h"
#include "cli/commands.h"

#include <sys/resource.h>
#include <CLI/CLI.hpp>

#include <array>
#include <cstdio>
#include <cstdlib>
#include <memory>

namespace assay::cli {
namespace {

void line(std::string_view what, std::string_view finding) { console::print("{:<14} {}\n", what, finding); }

std::string compiler() {
#if defined(__clang__)
  return fmt::format("clang {}", __clang_version__);
#else
  return fmt::format("g++ {}", __VERSION__);
#endif
}

// What the kernels really run on, of the instruction sets they were compiled for.
std::string simd() {
  const std::string_view target = tile::target_name();
  return target == "SCALAR" ? "none that we use (a CPU from before 2013?); kernels run, slowly"
                            : std::string(target);
}

std::string memory() {
  return fmt::format("{}; default budget {} (compare --memory)", format_size(physical_memory()),
                     format_size(memory_budget(0)));
}

std::string open_files() {
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) return "unknown";
  if (limit.rlim_cur == RLIM_INFINITY) return "no limit";
  return fmt::format("at most {}{}", limit.rlim_cur,
                     limit.rlim_cur < 512 ? "; few: run `ulimit -n 1024` first" : "");
}

std::string temp_folder() {
  std::error_code error;
  const fs::path folder = fs::temp_directory_path(error);
  if (error) return fmt::format("none: {}; set TMPDIR to a folder", error.message());
  const auto file = FileWriter::create(folder / "assay_doctor", IfExists::number);
  return file ? fmt::format("{}, writable", display(folder))
              : fmt::format("not writable: {}", file.error().message);
}

std::string terminal() {
  const char* text = "";
  for (const char* name : {"LC_ALL", "LC_CTYPE", "LANG"})  // the first one that is set decides
    if (const char* value = std::getenv(name); value != nullptr && *value != '\0') {
      text = value;
      break;
    }
  const std::string locale = to_lower(text);
  const bool utf8 = locale.find("utf-8") != std::string::npos || locale.find("utf8") != std::string::npos;
  return fmt::format("{}; locale {}{}",
                     console::is_terminal(console::Stream::out) ? fmt::format("{} columns", console::width())
                                                                : "output is not a terminal",
                     *text == '\0' ? "not set" : printable(text),
                     utf8 ? "" : " (reports are UTF-8 all the same)");
}

// What a command prints; empty where it cannot be run, or prints nothing.
std::string first_line_of(const char* command) {
  struct Close {
    void operator()(FILE* pipe) const { ::pclose(pipe); }
  };
  std::array<char, 128> text{};
  const std::unique_ptr<FILE, Close> pipe(::popen(command, "r"));
  if (!pipe || std::fgets(text.data(), static_cast<int>(text.size()), pipe.get()) == nullptr) return {};
  return std::string(trim(text.data()));
}

// What assay-mpi needs, and in it, which processes there are.
void mpi_parts() {
  const std::string launcher = first_line_of("mpirun --version 2>/dev/null");
  line("MPI", launcher.empty() ? "missing; only assay-mpi needs it: apt install openmpi-bin" : launcher);
  line("processes", describe_cluster());
}

// What the helper scripts could use, asked without importing anything: torch alone would take seconds.
void python_parts() {
  static constexpr const char* kCommand =
      "python3 -c 'import sys, importlib.util as u; print(sys.version.split()[0], "
      "*(int(u.find_spec(m) is not None) for m in (\"numpy\", \"torch\")))' 2>/dev/null";
  const std::string text = first_line_of(kCommand);
  if (text.empty()) {
    line("python3", "missing; only scripts around assay need it: apt install python3 python3-numpy");
    return;
  }
  const std::vector<std::string_view> words = split(text, ' ');
  const auto present = [&](size_t i) { return words.size() > i && words[i] == "1"; };
  line("python3", words[0]);
  line("numpy", present(1) ? "present" : "missing; only scripts need it: pip install numpy");
  line("torch", present(2) ? "present" : "missing; only scripts need it: pip install torch");
}

// What recording a program needs.
void capture_parts() {
  const auto probe = find_probe();
  line("probe", probe ? display(*probe) : probe.error().message);
  const auto atb = find_atb();
  line("ATB",
       !atb ? atb.error().message
       : !atb->abi
           ? fmt::format("{}; it has no names of a probe: too old to be recorded", display(atb->library))
           : fmt::format("{}, strings of ABI {}", display(atb->library), static_cast<int>(*atb->abi)));
  const auto toolkit = find_toolkit();
  line("CANN", toolkit ? display(*toolkit) : toolkit.error().message);
}

Result<int> run_doctor() {
  line("assay", fmt::format("{}{}", kVersion, *kCommit == '\0' ? "" : fmt::format(" (commit {})", kCommit)));
  line("compiler", compiler());
  line("build", *ASSAY_CXX_FLAGS == '\0' ? "no build type: not optimised" : ASSAY_CXX_FLAGS);
  line("cores", fmt::format("{}; {}", thread_count(0), threading_library()));
  line("SIMD", simd());
  line("memory", memory());
  line("open files", open_files());
  line("temp folder", temp_folder());
  line("terminal", terminal());
  python_parts();
  capture_parts();
  mpi_parts();
  return 0;
}

}  // namespace

void add_doctor(CLI::App& app, const Context&, Action& action) {
  CLI::App* const command = app.add_subcommand("doctor", "Show how this assay was built and what it runs on");
  command->footer(
      "Exit code: 0.\n"
      "Examples:\n"
      "  assay doctor\n"
      "  assay doctor > doctor.txt   # to go with a bug report");
  command->callback([&action] { action = run_doctor; });
}

}  // namespace assay::cli

// The `assay` program.
#include "assay/base/cancel.h"
#include "assay/base/console.h"
#include "assay/format/open_files.h"
#include "assay/run/cluster/cluster.h"
#include "cli/program.h"

#include <csignal>
#include <new>
#include <vector>

namespace {

int complain(std::string_view message) {
  constexpr int kTrouble = 2;
  static_cast<void>(
      assay::console::write_line(assay::console::Stream::err, fmt::format("assay: {}", message)));
  return kTrouble;
}

int run(const std::vector<std::string>& words) {
  try {
    const auto code = assay::cli::run_program(words);
    return code ? *code : complain(code.error().message);
  } catch (const std::bad_alloc&) {
    return complain("out of memory; pass --threads 1 or a smaller --memory");
  }
}

}  // namespace

int main(int argc, char** argv) {
  assay::console::hold_standard_streams();
  assay::catch_interrupts();
  assay::raise_limit_of_open_files();
  std::signal(SIGPIPE, SIG_IGN);  // a closed pipe shows as an error of the write,
  std::signal(SIGXFSZ, SIG_IGN);  // and so does a file that grows beyond what `ulimit -f` allows
  return assay::run_in_cluster(std::vector<std::string>(argv, argv + argc), run);
}

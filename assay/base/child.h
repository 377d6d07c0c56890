// Runs a program with our own input and output, and waits for its end.
#pragma once

#include "assay/base/result.h"

#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace assay {

// A variable of the environment; without a value it is taken away.
struct EnvironmentChange {
  std::string name;
  std::optional<std::string> value;
};

// How a program ended: its exit status, or 128 and the number of the signal that ended it, as shells say it.
struct ChildEnd {
  int status = 0;
  int signal = 0;  // 0: it ended by itself
};

// Programs are started by the assay program, never on behalf of a caller of its library: signals are passed
// on by handlers. Asked before anything is made for one.
Result<void> check_may_start(const std::vector<std::string>& words);

// Words as they stand, no shell: the first is looked up in PATH. Signals that we get are passed on, but for
// those that the terminal gives to the program as well. Not found: an error of kind not_found; what may not
// be, or cannot be executed: unsupported.
Result<ChildEnd> run_child(const std::vector<std::string>& words,
                           const std::vector<EnvironmentChange>& changes);

// The words of a command line as a shell would part them: blanks, quotes and backslashes, and nothing else of
// a shell. An error where a quote is not closed, or where a character stands outside of quotes that means
// something to a shell.
Result<std::vector<std::string>> split_command(std::string_view line);

}  // namespace assay

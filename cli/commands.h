// The subcommands of `assay`. Each adds itself to the parser; what it returns from run is the exit code:
// 0 same (within the rules), 1 different, 2 trouble.
#pragma once

#include "assay/base/clock.h"
#include "assay/base/result.h"
#include "assay/format/format.h"
#include "assay/model/outcome.h"
#include "assay/tensor/dtype.h"
#include "assay/tensor/operand.h"

#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace CLI {
class App;
}

namespace assay {
struct CompareRequest;
}

namespace assay::cli {

extern const char* const kVersion;
extern const char* const kCommit;  // empty in a build from a tarball

struct Context {
  Moment now;
  std::string command_line;             // as typed, for the reports
  std::vector<std::string> child = {};  // the words behind --: a program to be started
};

// A subcommand registers its flags on `app` and leaves its action in `action`; main calls it after parsing.
// An error is printed by main as one line, exit code 2.
using Action = std::function<Result<int>()>;

void add_compare(CLI::App& app, const Context& context, Action& action);
// What is read and paired, as this command line of `assay compare` has it. What it writes and judges is left.
Result<void> pair_as(std::string_view command_line, CompareRequest& request);
// Gives flags whose value stands behind = or not at all the value that means "not at all": CLI11 would take
// the next word for it.
void settle_bare_flags(std::vector<std::string>& arguments);
bool may_stand_alone(std::string_view flag);  // it is such a flag
void add_opcheck(CLI::App& app, const Context& context, Action& action);
void add_explain(CLI::App& app, Action& action);
void add_errcheck(CLI::App& app, const Context& context, Action& action);
void add_dump(CLI::App& app, const Context& context, Action& action);
void add_capture(CLI::App& app, const Context& context, Action& action);
void add_recover(CLI::App& app, const Context& context, Action& action);
void add_inspect(CLI::App& app, const Context& context, Action& action);
void add_convert(CLI::App& app, const Context& context, Action& action);
void add_compact(CLI::App& app, const Context& context, Action& action);
void add_topology(CLI::App& app, const Context& context, Action& action);
void add_doctor(CLI::App& app, const Context& context, Action& action);
void add_view(CLI::App& app, const Context& context, Action& action);
void add_demo(CLI::App& app, const Context& context, Action& action);

// ----- shared by the commands
int exit_code(Answer answer);                      // 0 pass, 1 fail, 2 trouble or too little compared
Result<DType> parse_dtype(std::string_view text);  // --dtype bf16
Result<Shape> parse_shape(std::string_view text);  // --shape 2,3 or [2, 3]; "" is a scalar
// Flags --dtype and --shape of files without a header; empty texts mean that they were not given.
Result<void> describe_raw(std::string_view dtype, std::string_view shape, std::string_view offset,
                          FormatOptions& options);
// An error where --dtype was given and all files say their types themselves: it would be ignored.
Result<void> check_raw_is_meant(std::span<const fs::path> paths, std::string_view flag,
                                const FormatOptions& options);
inline constexpr const char* kTrustedHelp = "Files may ask for any work (docs/formats/pt.md)";
Result<int64_t> parse_memory(std::string_view text);  // --memory 2GiB
// Flags --memory (empty: not given) and --trusted. `threads` as for limit_files in assay/run/resources.h.
Result<void> limit_files(std::string_view memory, int threads, bool trusted, FormatOptions& options);
std::vector<std::string> split_list(const std::vector<std::string>& given);  // "a,b" and "c" become a b c

// The same of --only and --skip. An empty text is an error: a variable of a shell that was never set must not
// choose everything.
Result<std::vector<std::string>> parse_patterns(std::string_view flag, const std::vector<std::string>& given);

}  // namespace assay::cli

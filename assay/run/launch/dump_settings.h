// What a program that runs ATB is told by its environment: which tensors the probe is to record, and where.
#pragma once

#include "assay/base/child.h"
#include "assay/base/clock.h"
#include "assay/base/file.h"
#include "assay/run/launch/ranks.h"

namespace assay {

struct DumpSettings {
  std::vector<std::string> types = {"tensor", "model"};  // of kDumpTypes
  bool only_descriptions = false;                        // types and shapes, no data
  std::string ids;                                       // "2,3_1"; empty: all operations
  std::string range = "0,0";                             // rounds: pairs of first and last
  bool children = true;                                  // of the operations with these ids
  int time = 3;       // 0 before, 1 after, 2 both, 3 inputs before and outputs after
  std::string names;  // beginnings of the types of operations, "self,linear"; empty: all
  bool tiling = false;
  int part = 2;  // 0 inputs, 1 outputs, 2 both
  fs::path output = "./";
  std::optional<int64_t> device = {};
  std::string log_level = "info";
  std::optional<int64_t> seed = {};
  bool links = false;    // files with equal contents become links
  fs::path config = {};  // that is read again while the program runs; empty: none

  bool has(std::string_view type) const;
};

inline constexpr std::array<std::string_view, 8> kDumpTypes = {"model",  "layer",         "op",   "kernel",
                                                               "tensor", "cpu_profiling", "onnx", "stats"};

// Checks of what users write. Each gives the value as the probe wants it, or says what is wrong with it.
Result<std::string> read_ids(std::string_view text);    // "2, 3_1" is "2,3_1"
Result<std::string> read_range(std::string_view text);  // digits and commas

// What is well-formed and does nothing, as the probes of ATB understand it: each with what to write instead.
std::vector<std::string> settings_in_vain(const DumpSettings& settings);

// Where a process that has this id leaves the list of the topologies that are to be drawn.
fs::path list_of_topologies(const DumpSettings& settings, int64_t process);

// One start of a program.
struct DumpRun {
  Moment named_by;          // the time in the name of the folder
  Moment started;           // what is older was there before
  int64_t process = 0;      // ours
  std::string id = {};      // what the probe writes into capture.json, so that other runs are told apart
  fs::path folder = {};     // made for this run alone; empty: the folder has a fixed name, or ranks share it
  RanksOfStart ranks = {};  // the caller leaves them in the end
};

// A run with an id and, where the folder is named by the second, a folder of its own.
Result<DumpRun> begin_run(const DumpSettings& settings, Moment now);

// The environment that makes it so.
std::vector<EnvironmentChange> environment_of(const DumpSettings& settings, const fs::path& probe,
                                              const DumpRun& run);

// The same for a check of overflows; `stops`: the program is stopped at the first.
// asked: a file that the probe makes when ATB first asks it anything.
std::vector<EnvironmentChange> environment_of_check(const fs::path& output, bool stops,
                                                    std::string_view log_level, const fs::path& probe,
                                                    const fs::path& asked);

// Whether something can be written there, and for a dump the room that it needs at least. Makes the folder.
Result<void> check_output(const fs::path& output);
Result<void> check_room(const fs::path& output);

std::string stamp_of(Moment now);  // 20250102_030405

}  // namespace assay

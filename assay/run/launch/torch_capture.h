// Programs of Python that are started with the recorder of PyTorch in them: where its package lies, what it
// is told, and what it left behind.
#pragma once

#include "assay/base/child.h"
#include "assay/base/file.h"

#include <string>
#include <utility>
#include <vector>

namespace assay {

struct TorchCaptureSettings {
  fs::path output;                   // of the dump
  std::vector<std::string> modules;  // patterns of their names; empty: all
  std::string steps;                 // "0-2,5"; empty: all
  bool functions = false, only_statistics = false;
};

// "0-2,5" in order, without blanks; an error where it is anything else.
Result<std::string> read_steps(std::string_view text);

// The folder `assay` of the package: beside the program in a wheel, in the source tree, or where it was
// installed.
Result<fs::path> find_python_package();

// So that any Python that is started records. The program's own PYTHONPATH comes after.
std::vector<EnvironmentChange> environment_of(const TorchCaptureSettings& settings, const fs::path& package);

// An error where a dump lies there already: nothing is added to one.
Result<void> check_holds_no_dump(const fs::path& output);

// Lines for people: what was recorded, what was not, and what to type next.
std::string text_of_torch_capture(const fs::path& output);
// The notes of a program of which nothing was recorded, once they were told: the next run finds an empty
// folder.
void remove_notes_of_nothing(const fs::path& output);

// The Python that belongs to the package, or the first one in PATH.
std::string python_of_package();

}  // namespace assay

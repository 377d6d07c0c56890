// Where the probe lies that records what ATB computes, and which ATB the environment means.
#pragma once

#include "assay/base/file.h"

#include <optional>

namespace assay {

// The library to be loaded into the program that runs ATB: that of ASSAY_PROBE, one beside this program, or
// the installed one. An error says where it was looked for, and what to do.
Result<fs::path> find_probe();

enum class StringAbi : uint8_t { old = 0, cxx11 = 1 };

// What ATB_HOME_PATH means.
struct AtbPlace {
  fs::path library;                   // libatb.so
  std::optional<StringAbi> abi = {};  // of the names it exports; nothing where it has no names of the probe
};
// An error where the variable is not set, or leads nowhere.
Result<AtbPlace> find_atb();

// The toolkit that ASCEND_TOOLKIT_HOME means, or the usual place. An error where it is not there.
Result<fs::path> find_toolkit();

}  // namespace assay

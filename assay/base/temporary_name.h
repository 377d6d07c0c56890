// Names of files that are not whole yet, for the moments in which they cannot do without one. See FileWriter.
#pragma once

#include "assay/base/file.h"

namespace assay {

// ".x.csv.HOST-4711-0.assay.tmp" in the folder of x.csv; another one each time.
fs::path temporary_beside(const fs::path& path);
bool is_temporary_name(std::string_view file_name);

// The lock that says that the process of a temporary file lives; it goes with the descriptor. False: somebody
// has just taken the file for a leftover, or has removed it.
bool lock_temporary(int descriptor);

// Removes a file that a killed process left under a temporary name. Whatever is not certain to be that stays:
// files of other names and of other users, what is no plain file, what is locked, and what was written on
// another machine within a day, since locks may not be seen across machines.
void remove_leftover(const fs::path& path);
// All of a folder, the first time that this process asks.
void remove_leftovers_once(const fs::path& folder);

}  // namespace assay

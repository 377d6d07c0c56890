// What became of everything that was handed in, and the small file that says so beside the dump.
#pragma once

#include "capture/whole_file.h"

#include <string>

namespace assay::capture {

struct Tally {
  int64_t tensors = 0, bytes = 0;     // files of tensors, and what they hold
  int64_t linked = 0;                 // of them links to an equal one
  int64_t statistics = 0, lines = 0;  // tensors of which statistics alone were kept; lines of text
  int64_t filtered = 0;               // handed in, and not wanted by the settings
  int64_t dropped = 0;                // too fast for the disk: statistics were kept, data were not
  int64_t lost = 0, lost_bytes = 0;   // meant for a file that could not be written
  std::string first_loss;             // why, of the first one

  bool is_empty() const;
};

// "12 files (3.4 GiB) were lost; the first: ..."
std::string loss_sentence(const Tally& tally);

// capture.json in the folder of a dump: an object with one member for each process, by its id. Each has a
// place of a fixed size, taken when there is still room on the disk, and written over: a full disk does not
// hide what it cost.
class TallyFile {
 public:
  // Empty: none is kept.
  explicit TallyFile(std::string path) : path_(std::move(path)) {}
  void write(const Tally& tally,
             const Rights& rights);  // what goes wrong is not told: there is nowhere left to tell it
  void forget() { place_ = -1; }     // in a child process, which has a place of its own

 private:
  std::string path_;
  int64_t place_ = -1;
};

}  // namespace assay::capture

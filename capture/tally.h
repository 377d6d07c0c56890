// What became of everything that was handed in, and the small file that says so beside the dump.
#pragma once

#include "capture/whole_file.h"

#include <atomic>
#include <string>

namespace assay::capture {

struct Tally {
  int64_t tensors = 0, bytes = 0;     // files of tensors, and what they hold
  int64_t linked = 0;                 // of them links to an equal one
  int64_t statistics = 0, lines = 0;  // tensors of which statistics alone were kept; lines of text
  int64_t filtered = 0;               // handed in, and not wanted by the settings
  int64_t dropped = 0;                // too fast for the disk: statistics were kept, data were not
  int64_t lost = 0, lost_bytes = 0;   // files that could not be written, and lines of tables
  int64_t lost_lines = 0;             // of them lines
  std::string first_loss;             // why, of the first one
  int64_t waiting = 0;                // tensors that are not written yet

  bool is_empty() const;
  // Of a file; or of so many lines of one.
  void add_loss(int64_t size, const std::string& reason, int64_t of_lines = 0);
};

// "12 files and 1 line of tables (3.4 GiB) were lost; the first: ..."
std::string loss_sentence(const Tally& tally);

// capture.json in the folder of a dump: an object with one member for each writer, by the id of its process;
// the second of a process is "{id}.2". Each has a place of a fixed size, taken when there is still room on
// the disk, and written over: a full disk does not hide what it cost.
class TallyFile {
 public:
  // Empty: none is kept. run: what the launcher of the program knows its processes by; may be empty.
  TallyFile(std::string path, std::string run) : path_(std::move(path)), run_(std::move(run)) {}
  // has_ended: nothing comes any more; a process whose record does not say so was cut off. While another
  // thread writes, nothing is done. What does not fit leaves the file as it was.
  Result<void> write(const Tally& tally, bool has_ended, const Rights& rights);
  // In a child process, which has a place of its own.
  void forget() {
    place_ = -1;
    is_busy_.clear();
  }

 private:
  Result<void> write_record(const Tally& tally, bool has_ended, const Rights& rights);
  std::string path_, run_;
  std::string key_ = {};  // of the member at place_
  int64_t place_ = -1;
  std::atomic_flag is_busy_ = {};
};

}  // namespace assay::capture

// A layout is how a folder of files makes a dump. One file per layout in this folder; table.cc lists them.
#pragma once

#include "assay/format/format.h"
#include "assay/model/dump.h"

#include <atomic>
#include <memory>
#include <mutex>

namespace assay {

class OpenFiles;  // assay/format/open_files.h
struct Layout;

// Which patterns of --only and --skip fitted a name: one that fits none is likely a typing error. Any thread.
struct PatternsUsed {
  PatternsUsed(size_t only_count, size_t skip_count)
      : only(only_count), skip(skip_count), only_meant(only_count), skip_meant(skip_count) {}
  std::vector<std::atomic<bool>> only, skip;
  std::mutex mutex;                                 // of what follows
  std::vector<std::string> only_meant, skip_meant;  // what would have fitted a name; empty: nothing so far
};

// A pattern near the given one that fits the name: the name itself where letters differ in their case alone,
// or the pattern as a part of it. Empty: none.
std::string pattern_meant(std::string_view pattern, std::string_view name);

struct OpenOptions {
  const Layout* given = nullptr;  // by a caller who has one of its own
  std::string layout;             // forced by --layout; empty: recognise
  FormatOptions format;
  std::vector<std::string> only, skip;  // globs over item names
  std::shared_ptr<PatternsUsed> used;   // null: nobody asks
  bool data = true;                     // false: what the dump says of its tensors is enough
  bool stacks = true;                   // read where nodes were called from, where the dump says
  fs::path stack_file;                  // from here, and not from beside the dump
  // Of entries of a dump.json: an argument is a tensor, a size, a slice or a Python value, and no more.
  bool few_kinds_of_arguments = false;
  // … and items of statistics are named after their places in the entry, even where files are named too.
  bool names_statistics_by_place = false;
  bool null_is_zero = false;  // in tables of kernels
  // Files of a plain folder without a manifest come in the order of their modification times, if no two have
  // the same.
  bool order_by_time = false;
  bool structure = false;           // read which module a node belongs to, as Frame::graph
  bool within = false;              // … as Node::within, which decides nothing
  bool params = false;              // read what each operator was told
  std::vector<int> ranks, steps;    // only these; empty: all
  bool warm_up = false;             // of ATB: the warm-up round is a frame too, "warmup"
  OpenFiles* open_files = nullptr;  // where files whose headers were read wait for their data to be read
};

struct Layout {
  std::string_view name;
  int (*recognise)(const fs::path& root);  // 0 no … 100 certain; the surest wins
  Result<Survey> (*survey)(const fs::path& root, const OpenOptions& options);
  Result<Frame> (*index)(const FrameInfo& info, const OpenOptions& options);
  bool states_statistics = false;  // its items may have statistics instead of data
  bool has_tokens = false;         // its frames are tokens of a model that chooses the next one
  bool gives_values = false;       // its files may hold values beside their tensors (FormatOptions::values)
};

std::span<const Layout* const> layouts();
Result<Dump> open_dump(const fs::path& root, const OpenOptions& options);

// Wanted by --only / --skip?
bool selected(std::string_view name, const OpenOptions& options);

}  // namespace assay

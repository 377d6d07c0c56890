// From the tensors of a file to the items of a frame. Shared by the layouts.
#pragma once

#include "assay/dump/layout.h"

namespace assay {

// What is known of a tensor when its file was opened.
struct TensorDraft {
  std::string name;  // as the file has it; "" for a single unnamed tensor
  std::optional<TensorMeta> meta;
  std::optional<Stats> stats;
  std::vector<Fact> facts;
  bool has_data = false;
  std::string trouble;  // why there is no data; empty for a mere description as well
};

// The file itself is left open for those who will read its data, where the options say so.
std::vector<TensorDraft> draft_tensors(const fs::path& path, TensorSet set, const OpenOptions& options);

// The file that items of a frame have their data in. Its name tells whether that is all of their data.
FileEntry data_file(fs::path path, int64_t size);

// The item of the `slot`-th tensor of file `file`; its strings, statistics and facts move into the frame.
Item make_item(Frame& frame, std::string name, int32_t file, int32_t slot, TensorDraft draft);

// What a file holds beside its tensors. A list, tuple or set of numbers and texts is one value. Two values
// are equal if their drafts are, kind by kind: 1, 1.0 and True differ, and so do a list and a tuple.
struct ValueDraft {
  std::string name;
  Value value;             // a text: as Python writes it
  Nonfinite numbers = {};  // of those in it: how many are NaN or infinite
};
std::vector<ValueDraft> draft_values(std::span<const StoredValue> values);
Item make_value_item(Frame& frame, const std::string& name, const ValueDraft& draft);

// Names for a message, at most `shown` of them: "a, b, c, …".
std::string some_names(const std::vector<std::string>& names, size_t shown = 3);

// Files below a folder that may be tensors, and that nobody can read.
void note_unknown_files(const fs::path& folder, const std::vector<std::string>& names, Remarks& warnings);

// Of `names`, files below a folder that have no place in its layout: those that hold tensors, or may, are
// left out, and are said to be.
void note_misfits(const fs::path& folder, const std::vector<std::string>& names, Remarks& warnings);

// The same of files, by their paths below the root, that lie in folders where the layout has none; tables
// that other dumps are described by count too.
void note_strays(const fs::path& root, const std::vector<std::string>& files, Remarks& warnings);

// A rank, a step or a token of which nothing was dumped has no section that could say so. `folders`: below
// the root.
void note_empty_folders(const fs::path& root, const std::vector<std::string>& folders, Remarks& warnings);

}  // namespace assay

// What the layouts of inference dumps share: folders of ranks, of tokens, and of operators in a tree.
#pragma once

#include "assay/base/path_kind.h"
#include "assay/dump/items.h"
#include "assay/dump/layout.h"
#include "assay/model/port.h"

#include <functional>
#include <map>
#include <set>

namespace assay {

std::vector<fs::path> folders_in(const fs::path& folder);  // in natural order; none where it cannot be read
// What a table of statistics says of a tensor: "float16" and the extents as texts; nothing for what no tensor
// can be.
std::optional<TensorMeta> stated_meta(std::string_view type, std::span<const std::string_view> dims);
std::optional<TensorMeta> stated_meta(DType dtype, std::span<const std::string_view> dims);
std::optional<int> whole_number(std::string_view text);  // digits only, below 10^9
// Which tensor of its operator ATB means by "1", or "1_key" where it knows what the tensor is for, or "1.2",
// where one of that name had been saved before.
void read_port_number(std::string_view text, Port& port);

// Where one of several ranks lies: "0_4001" is 0, "cuda3_77" is 3; its place in the list where names do not
// tell.
std::vector<int> rank_numbers(const std::vector<fs::path>& ranks);

fs::path below_root(const fs::path& root,
                    const fs::path& path);  // "tensors/0_4001"; begins with ".." elsewhere

// Empty folders beside the ranks that hold something, where these lie below the root: those that `is_rank`
// knows by their names, and that are asked for. By their paths below the root.
std::vector<std::string> empty_ranks(const fs::path& root, const std::vector<fs::path>& ranks,
                                     const OpenOptions& options, bool (*is_rank)(std::string_view name));

// The files of one operator before they are items.
struct OpFile {
  std::string relative;  // below the frame, with '/'
  Port port;
  int64_t size = 0;
  TensorDraft draft;
  std::string name = {};          // of the item; empty: its place
  std::string described_in = {};  // the file with its statistics, if it is another one
  int32_t row = -1;               // where that is a table of several tensors: which of those with this name
  bool is_row() const { return row >= 0; }
};

// What one of several ranks has: files of tensors, by the names of their items.
using RankTensors = std::set<std::string, std::less<>>;
struct RankContents {
  RankTensors tensors;
  Remarks warnings;
};
const std::string& item_name(const OpFile& file);

// Makes the nodes of a frame from files that are grouped by operator: children before their parents, since
// that is the order in which they finish. Where the graph of the frame, which others may share, does not know
// an operator, the frame gets one of its own, with the operator below the nearest one that is known.
class OpFrame {
 public:
  // `ranks`: the frames of all ranks, this one among them, in order.
  OpFrame(Frame& frame, const OpenOptions& options, fs::path root, std::vector<fs::path> ranks);
  // `path`: of the operator, as GraphOp::path. `above`: cuts the last part of a path.
  void add(std::string path, std::vector<OpFile> files);
  void finish(std::string_view (*above)(std::string_view path));
  // Where this rank stands for all, and tensors are rows of tables: finds what the table of another rank says
  // of one, null where it says nothing. Call before finish().
  using FindRow = std::function<const TensorDraft*(const fs::path& rank, const OpFile& file)>;
  void read_rows_of_ranks(FindRow find) { find_row_ = std::move(find); }
  // Where this rank, which has `own`, stands for all: what only some of them have, and what is to be said of
  // the others. Call behind finish(). `look`: at a rank, by its frame.
  void note_other_ranks(RankTensors own, const std::function<RankContents(const fs::path& rank)>& look);

 private:
  void add_unknown_ops(std::string_view (*above)(std::string_view path));
  void make_node(int32_t op, std::vector<OpFile>& files);
  const std::vector<TensorRef>* shards_of(const OpFile& file, int32_t own);
  TensorRef add_row(fs::path table, const TensorDraft& draft);
  std::optional<FileEntry> file_on_rank(const fs::path& rank, const std::string& relative) const;

  Frame& frame_;
  const OpenOptions& options_;
  const fs::path root_;
  const std::vector<fs::path> ranks_;
  FindRow find_row_;
  std::map<std::string, std::vector<OpFile>, std::less<>> by_path_;
  std::vector<std::string> in_order_;
};

}  // namespace assay

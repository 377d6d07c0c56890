// What a dump is once it is opened: frames of nodes of items. Plain structs; strings live in the pool of
// their frame.
#pragma once

#include "assay/base/file.h"
#include "assay/base/remark.h"
#include "assay/model/op_param.h"
#include "assay/model/port.h"
#include "assay/model/string_pool.h"
#include "assay/model/value.h"
#include "assay/tensor/operand.h"

#include <deque>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

namespace assay {

struct TensorRef {
  int32_t file = 0;  // index into Frame::files
  int32_t slot = 0;  // the slot-th tensor of that file
};

// What an operator was given or gave, where the dump says.
enum class Given : uint8_t {
  tensor,
  argument,  // a number, a slice, a type
  nothing,   // None, or an object that the dump names but does not describe
  beside,    // a number or a text that a file holds beside its tensors: it decides nothing unless asked to
};

// What the dump itself says of an item, in its own words.
struct Stated {
  Scalar max, min, mean, norm;  // of a scalar argument: its value, four times
  std::string_view checksum;
  std::string_view dtype, shape;         // "torch.float32", "[2, 3]"; empty: not said
  std::string_view data_name;            // the file it names; empty: none
  std::string_view requires_grad;        // "True", "False"; empty: not said
  const Nonfinite* nonfinite = nullptr;  // null: not said, as in most dumps
  Given given = Given::tensor;
  int8_t decimals = -1;  // that its real numbers were printed with and cut to; -1: as many as they have
};

// Whatever the dump has a line for: bytes, statistics, a scalar, None.
struct Item {
  std::string_view name;
  Port port;
  const TensorMeta* meta = nullptr;  // null where it is not known before the file is opened
  std::optional<TensorRef> data;
  int32_t described_in = -1;  // the file with its statistics, where its data was never written
  const Stated* stated = nullptr;
  const std::vector<Fact>* facts = nullptr;
  const std::vector<TensorRef>* shard_list = nullptr;
  std::string_view trouble = {};  // why there is no data, when indexing already found out

  // Where several ranks hold a part of it each: those of all ranks, in their order, this one among them.
  std::span<const TensorRef> shards() const {
    return shard_list == nullptr ? std::span<const TensorRef>{} : *shard_list;
  }
};
static_assert(sizeof(Item) <= 88, "a dump.json of 1 GB has millions of them");

// One operator, module or file: the unit that is judged together.
struct Node {
  std::string_view name, type;
  std::span<const std::string_view> stack;  // the innermost call first
  std::string_view within = {};             // the module it ran in, where the dump says and it was asked for
  int64_t order = 0;                        // execution order
  std::vector<Item> items;
};

struct Graph;  // assay/model/graph.h

// What an operator was told in this run.
struct OpParams {
  std::vector<OpParam> list;
  std::string text = {};     // as the dump has it; empty: it says nothing
  std::string trouble = {};  // why it could not be read
};

// What the items of a frame can be compared by.
enum class Content : uint8_t { data, statistics, checksums };

// Where in a run a frame was taken; -1 where the dump does not say.
struct At {
  int rank = -1, step = -1, graph = -1, token = -1;
  std::string part;                // a sub-dump: pynative, debug, layer, module, api, warmup layer
  std::string text() const;        // "rank 0 step 3"; empty for a dump of one frame
  std::string_view level() const;  // the last word of part, where a section stands for a level: layer
  friend bool operator==(const At&, const At&) = default;
};

// The round of an ATB dump before the first token, where it is listed: its part.
inline constexpr std::string_view kWarmUp = "warmup";

struct FileEntry {
  fs::path path;
  int64_t size = 0;
  bool is_table = false;  // of several tensors: what one of several ranks says of them, as Frame::rank_rows
  // The end of its name that says that of its tensors the smallest and the largest element are all that is
  // left; 0: they are there.
  uint8_t letters_for_extremes = 0;
  bool keeps_extremes() const { return letters_for_extremes > 0; }
};

// What the table of one of several ranks says of a tensor.
struct RankRow {
  Stats stats;
  std::optional<TensorMeta> meta = {};
  std::string trouble = {};
};

struct Frame {
  At at;
  bool is_file = false;       // a single file, whose tensors may have any names
  std::string given_as = {};  // the end of its path, which no name of an item has: "mp_rank_01/model.pt"
  bool states_order = false;  // of execution, by a list of its files
  Content content = Content::data;
  bool has_stacks = false;  // the dump says where its nodes were called from
  std::string framework;    // "pytorch", "mindspore"; empty where the layout does not say
  std::vector<Node> nodes;
  std::vector<FileEntry> files;
  StringPool strings;
  // Where the pointers and spans of nodes and items point; addresses are stable.
  std::deque<TensorMeta> metas;
  std::deque<Stated> stated;
  std::deque<Nonfinite> nonfinite;
  std::deque<std::vector<Fact>> facts;
  std::deque<std::vector<std::string_view>> stacks;
  std::deque<std::vector<TensorRef>> shards;
  std::vector<RankRow> rank_rows;      // by the slots of shards whose file is a table
  std::shared_ptr<const Graph> graph;  // of the model; null where the dump does not say
  // Which operators of the graph a node is, by node, and which node an operator ran in, by operator: the
  // first of several. One that the compiler fused is several, in execution order where the graph says so.
  std::vector<std::vector<int32_t>> ops_of_node;
  std::vector<int32_t> node_of_op;
  std::vector<OpParams> params;  // by node, where they were asked for (OpenOptions::params)
  Remarks warnings;

  void set_ops(size_t node, std::vector<int32_t> ops);
  std::span<const int32_t> ops_of(size_t node) const;
  int32_t node_of(int32_t op) const;  // -1: nothing of it was dumped
  // The graph where its operators contain each other; else an empty one.
  const Graph& tree() const;
  const Graph* compiled() const;  // where a compiler made it; else null
};

struct AtbModels;  // assay/dump/atb_place.h

// Enough to index the frame later.
struct FrameInfo {
  At at;
  std::vector<fs::path> paths;  // what they are is the layout's business
  int64_t first_order = 0,
          last_order = INT64_MAX;  // of the top-level operators of a round that two tokens share
  // Read once for all frames of a model. What a frame lacks in its models is not in its graph, so that ATB
  // makes it later.
  std::shared_ptr<const Graph> graph = {};
  std::shared_ptr<const AtbModels> atb_models = {};  // of its rank
  // Of a compiled graph. Where the two sides do not number theirs alike, the names tell which is which.
  std::string model = {};  // as its folder is called
  std::vector<std::string> op_names = {};
  bool stands_for_ranks = false;  // the first of several, against another number of them
};

// What a look at the names in a dump tells.
struct Survey {
  std::vector<FrameInfo> frames;
  Remarks warnings = {};
};

struct Layout;  // assay/dump/layout.h

struct Dump {
  const Layout* layout = nullptr;
  fs::path root;
  std::vector<FrameInfo> frames;
  Remarks warnings = {};  // of the survey
};

}  // namespace assay

// What the names of files and folders of TorchAir dumps say. docs/formats/torchair.md
#pragma once

#include "assay/base/file.h"
#include "assay/model/dump.h"

#include <unordered_map>

namespace assay {

// "{type}.{name}.{task}.{stream}.{time}", without the stream in old versions, with four more numbers behind
// it where an operator ran in threads.
struct GeFileName {
  std::string_view op_type, op_name;
  std::string_view timestamp;  // microseconds since 1970
};
std::optional<GeFileName> parse_ge_file(std::string_view name);

// "{node}-{target}.{INPUT|OUTPUT}.{i}[.{j}].{time}[_rank_{r}_pid_{p}].npy"
struct FxFileName {
  std::string_view key;  // "{node}-{target}", what a graph calls the tensors of the node
  Port port;
  int part = -1;  // of an argument that is a list of tensors
  std::string_view timestamp;
  int rank = -1;
};
std::optional<FxFileName> parse_fx_file(std::string_view name);

// "dynamo_{kind}_graph_{G}_rank_{R}_pid_{P}_ts_{T}.txt"
struct GraphFileName {
  int graph = -1, rank = -1;
};
std::optional<GraphFileName> parse_graph_file(std::string_view name, std::string_view kind = "original");

// "worldsize8_global_rank3": 3
std::optional<int> rank_of_folder(std::string_view name);
// "graph_2": 2
std::optional<int> graph_of_folder(std::string_view name);
// Fourteen digits.
bool is_time_folder(std::string_view name);
// Whether a path, below the root of a dump, has the name of a folder of a rank, a graph or a token, and no
// other rank than these; none: any.
bool may_hold_tokens(const std::string& relative, const std::vector<int>& ranks);

// What a file stands for where that is gone: "X.npy" of "X_min_max.npy" and of "X.npy.stats.json".
struct SourceFile {
  std::string_view name, extension;
  enum class Kind : uint8_t { itself, statistics, range } kind = Kind::itself;
};
SourceFile source_of(std::string_view name);

// Those of a folder by name. Where what stands for a file lies beside it, the file counts; statistics count
// before ranges.
std::vector<fs::path> files_that_count(const fs::path& folder, Remarks& warnings);

// mapping.csv: digits that stand for a name which is too long for a file system. Rows that say something else
// are passed over.
std::unordered_map<std::string, std::string> read_long_names(const fs::path& folder, Remarks& warnings);

}  // namespace assay

// Mapping files of msprobe: how names of mine turn into names of golden. docs/scenarios/msprobe.md shows
// them.
#pragma once

#include "assay/base/file.h"
#include "assay/base/result.h"

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace assay {

// One entry of an API mapping file.
struct ApiMapping {
  std::string mine, golden;  // "Functional.abs", "Torch.abs"
  // What stands behind ".input." and the like, paired position by position: numbers, of parameters also
  // names. What a list does not have matches nothing; without lists everything maps to itself.
  struct Indices {
    std::vector<std::string> mine, golden;
  };
  std::optional<Indices> inputs, outputs, parameters, parameter_gradients;
  std::string file;  // for messages
  int64_t line = 0;
};

struct LayerRename {
  std::vector<std::string> path;  // tokens of mine
  std::string target;             // may have dots
};

using NameMapping = std::vector<std::pair<std::string, std::string>>;  // in file order
using LayerMapping = std::map<std::string, std::vector<LayerRename>>;  // by type name

struct Mappings {
  bool use_api_table = false;  // -am: the built-in table, after the entries below
  std::vector<ApiMapping> apis;
  bool apis_may_miss = false;       // numbers that no item has are passed over with a warning
  bool rename_cells = false;        // -cm
  NameMapping cells;                // "fc2.Dense" to "fc2.Linear"
  bool cells_by_part = false;       // a key that is only a part of the name is replaced too
  std::optional<NameMapping> data;  // -dm: item names
  bool by_layer = false;            // -lm
  LayerMapping layers;

  bool any() const { return use_api_table || !apis.empty() || rename_cells || by_layer || data; }
};

// Every function refuses what the format does not allow, with file and line.
// An API whose lists do not go together, on which each generation of msprobe has its own view.
enum class UnevenLists : uint8_t {
  refuse,        // the file
  pass_over,     // the API, with a warning
  pair_outputs,  // … but of 'ms_output' and 'pt_output' as many are paired as both have
};
Result<std::vector<ApiMapping>> read_api_mapping(const fs::path& path,
                                                 UnevenLists uneven = UnevenLists::refuse);
Result<NameMapping> read_name_mapping(const fs::path& path);  // -cm, -dm
Result<LayerMapping> read_layer_mapping(const fs::path& path);

// The built-in table of MindSpore APIs and their PyTorch counterparts; empty if there is none.
std::string_view find_pytorch_api(std::string_view mindspore_api);

}  // namespace assay

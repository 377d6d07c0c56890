// Layers and models as ATB reports them, and the texts that are written of them: docs/formats/atb_topology.md
#pragma once

#include "probe/json.h"

#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace assay::probe {

// A layer with the names of its tensors. Nothing: what ATB gave is not what it should be; `trouble` says why.
std::optional<Json> named_layer(std::string_view name, std::string_view graph, std::string& trouble);

// Which tensors of a layer hold what another one of it held before, so that their files may name that one.
// Keys are "{ids}_{file}": "0_1_intensor0.bin".
struct Aliases {
  std::set<std::string> real;
  std::map<std::string, std::string> of;  // key -> the key that holds the data
};
// Nothing: its operators are not named as they should be.
std::optional<Aliases> find_aliases(const Json& layer);

// Layers that were reported, until the model that has them is.
class Models {
 public:
  void add(const Json& layer);
  // The model with the content of its layers. Nothing: what ATB gave is none, or all of it was reported
  // before.
  std::optional<Json> name_nodes(std::string_view name, std::string_view graph, std::string& trouble);
  // Is there anything to say of a model of this name?
  bool may_be_new(std::string_view name) const;
  int reported(std::string_view name) const;  // how often

 private:
  struct Layer {
    std::string type;
    Json content;
    bool is_taken = false;
  };
  std::map<int64_t, Layer> layers_;  // by the number that its name ends with
  std::map<std::string, int, std::less<>> names_;
  bool has_new_layers_ = false;
};

}  // namespace assay::probe

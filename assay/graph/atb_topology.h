// The tree of operations that ATB writes for a layer or a model (layer/<pid>/X.json, model/<pid>/X.json),
// with the names of the tensors between them. The file: docs/formats/atb_topology.md
#pragma once

#include "assay/base/file.h"
#include "assay/base/result.h"
#include "assay/model/op_param.h"

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace assay {

struct AtbOp {
  std::string name;  // opName, empty if the file has none
  std::string type;  // opType, empty if the file has none and for a model
  int32_t parent = -1;
  std::vector<int32_t> children;
  std::vector<std::string> in_tensors, out_tensors;
  std::vector<OpParam> params;  // in the order of the file, each key once

  const OpParam* find_param(std::string_view key) const;
  std::optional<bool> find_flag(std::string_view key) const;      // a whole number is a flag too
  std::optional<double> find_number(std::string_view key) const;  // nothing for a list of several
  std::optional<bool> has_bias() const;                           // of linear operations
  std::optional<int64_t> elewise_type() const;                    // of elementwise operations
};

struct AtbTopology {
  std::string name;  // of the model or layer; that of the file if it says none
  bool is_model = false;
  std::vector<AtbOp> ops;  // depth first in the order of execution; 0 is the model or layer itself
  std::vector<std::string> inputs, outputs, internals, weights, caches;
  // The number at the end of the name of the first layer. It goes on counting from model to model, so the
  // folders of this model's tensors begin with it.
  int64_t start_order = 0;
  std::vector<std::string> warnings;  // what was missing or strange, one line each
};

// `memory` bounds what the file may make us hold.
Result<AtbTopology> read_atb_topology(const fs::path& path, int64_t memory);

}  // namespace assay

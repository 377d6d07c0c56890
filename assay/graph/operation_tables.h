// operation_tensors_<n>.csv of an ATB dump: types and shapes of what went into each operation and came out.
// The file: docs/formats/atb_topology.md
#pragma once

#include "assay/graph/atb_topology.h"

#include <unordered_map>

namespace assay {

struct TensorType {
  int32_t elem_type = 0;      // TensorProto.DataType of ONNX; 0: not known
  std::vector<int64_t> dims;  // -1: not known
};

struct OperationTypes {
  std::vector<TensorType> ins, outs;
};

struct OperationTables {
  std::unordered_map<std::string, OperationTypes> ops;  // by opName; of one that ran often, the first run
  std::vector<std::string> warnings;
};

// The tables that lie in the same dump as a topology (…/model/<pid>/X.json); none is usual.
std::vector<fs::path> find_operation_tables(const fs::path& topology_json);

// Of the operations of this topology only. A table that cannot be read is a warning.
OperationTables read_operation_tables(const std::vector<fs::path>& tables, const AtbTopology& topology,
                                      int64_t memory);

}  // namespace assay

// A topology as an ONNX graph, for viewers. What is drawn, and where it differs from the file that the tools
// of CANN write: docs/topology.md
#pragma once

#include "assay/base/file.h"
#include "assay/graph/atb_topology.h"

namespace assay {

struct OnnxOptions {
  std::vector<fs::path> tables;  // types and shapes, see find_operation_tables
  int64_t memory = int64_t{1} << 30;
};

struct OnnxSummary {
  int64_t nodes = 0;
  std::vector<std::string> warnings;  // beyond those of the topology
};

inline constexpr int kLeaves = -1;

// `level`: how deep operations are taken apart. 1 draws layers of a model as one node each, 0 the model
// itself; kLeaves draws the operations that have none inside. An operation without any inside is always
// drawn.
Result<OnnxSummary> write_onnx(const AtbTopology& topology, int level, const OnnxOptions& options,
                               FileWriter& out);

}  // namespace assay

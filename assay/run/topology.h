// Draws the topology file of an ATB layer or model as an ONNX file. See docs/topology.md
#pragma once

#include "assay/base/file.h"

#include <optional>
#include <string>
#include <vector>

namespace assay {

struct TopologyRequest {
  fs::path json;
  fs::path out;    // empty: beside the json, X.onnx
  int level = -1;  // as in graph/onnx_writer.h; -1: the innermost operations
  bool force = false;
  int64_t memory = int64_t{1} << 30;  // bounds what the files may make us hold
};

struct TopologyOutcome {
  fs::path out;
  int64_t nodes = 0;
  std::vector<std::string> warnings;
};

// The topology of a model in a dump of ATB, else that of a layer; nothing: there is none.
std::optional<fs::path> find_topology(const fs::path& dump);

Result<TopologyOutcome> draw_topology(const TopologyRequest& request);

}  // namespace assay

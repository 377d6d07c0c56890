// Graphs of GE in text form: what TorchAir writes as dynamo_original_graph_*.txt and the compiler as
// ge_proto_*.txt. The file: docs/formats/ge_graph.md
#pragma once

#include "assay/base/file.h"
#include "assay/base/result.h"
#include "assay/model/graph.h"

namespace assay {

// A graph, or a model of graphs, whose first one gives the name; sub-graphs are among the operators wherever
// the file has them. `memory` bounds what the graph may take; weights are passed over, however large.
Result<Graph> read_ge_graph(const fs::path& path, int64_t memory);

}  // namespace assay

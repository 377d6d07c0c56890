// An operation of a topology as an operator of a graph.
#pragma once

#include "assay/graph/atb_topology.h"
#include "assay/model/graph.h"

namespace assay {

// Its names are copied, its parameters are not. Where it stands in the graph is for the caller to say.
GraphOp graph_op_of(const AtbOp& op, StringPool& strings);

}  // namespace assay

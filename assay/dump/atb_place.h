// Where in an ATB dump a path points, and what belongs to it.
#pragma once

#include "assay/dump/op_folders.h"
#include "assay/graph/atb_topology.h"

namespace assay {

struct AtbModel {
  fs::path topology;
  std::shared_ptr<const AtbTopology> content;
  int64_t first_order = 0;  // of its first operator among the folders of a round
};

struct AtbDumpPlace {
  std::vector<fs::path> ranks;  // folders {device}_{pid}; those that are meant
  std::string round;            // the only one that is meant; empty: all
  std::string trouble;          // why there is none
};

AtbDumpPlace locate_atb(const fs::path& root);
std::vector<fs::path> sibling_ranks(const fs::path& rank);  // all ranks beside this one, with it
bool is_atb_round(const fs::path& folder);

class AtbGraphs;  // assay/dump/atb_graph.h

struct AtbModels {
  std::vector<AtbModel> all;          // in the order in which they run
  std::shared_ptr<AtbGraphs> graphs;  // of these, made when they are asked for
};

// Unreadable ones are left out with a warning.
AtbModels models_of(const fs::path& rank, int64_t memory, Remarks& warnings);

}  // namespace assay

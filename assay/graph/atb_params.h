// The parameters of an operation, from its JSON.
#pragma once

#include "assay/graph/atb_topology.h"
#include "assay/support/json_tape.h"

namespace assay {

struct AtbParams {
  std::vector<OpParam> list;
  int64_t bytes = 0;
};

// Nothing if they take more than `memory`. `repeated` counts keys that stood there before. A text or null
// instead of an object means that there are none; another value is the parameter "param".
std::optional<AtbParams> read_atb_params(const JsonTape& tape, size_t place, int64_t memory,
                                         int64_t& repeated);

}  // namespace assay

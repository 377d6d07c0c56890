// What was gathered of a band, as bytes for another process.
#pragma once

#include "assay/metric/gathered.h"
#include "assay/run/cluster/bytes_codec.h"

namespace assay {

// Whether everything that such a pass gathers travels: histograms, and sums of the metrics of other tools, do
// not.
bool can_encode(const GatherPlan& plan);
void encode_gathered(const Gathered& gathered, Encoder& out);
Gathered decode_gathered(Decoder& in);

}  // namespace assay

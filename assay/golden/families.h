// The golden operators, grouped by what they are made of.
#pragma once

#include "assay/golden/golden.h"

namespace assay {

using GoldenFamily = std::span<const GoldenOp>;

GoldenFamily golden_activations();  // activation.cc
GoldenFamily golden_elewise();      // elewise.cc
GoldenFamily golden_softmaxes();    // softmax.cc
GoldenFamily golden_norms();        // layer_norm.cc, rms_norm.cc
GoldenFamily golden_ropes();        // rope.cc
GoldenFamily golden_products();     // linear.cc, …
GoldenFamily golden_attentions();   // self_attention.cc, paged_attention.cc
GoldenFamily golden_moves();        // elements that only change their place
GoldenFamily golden_indexings();    // places that other tensors tell
GoldenFamily golden_reductions();   // sums, extremes, prefixes, order
GoldenFamily golden_samplings();    // draws
GoldenFamily golden_collectives();  // over the ranks

}  // namespace assay

// The arguments of the calls that make a tensor of a .pt pickle: which of them only say how it is to be read.
#pragma once

#include "assay/format/pt_tensor.h"

namespace assay {

// How many arguments say how the elements are to be read; more may follow.
size_t describing_arguments(PtMeaning meaning);

// Is argument `i` what torch itself writes in that place and the tensor shows, or what only says how it was
// kept: whether it needs gradients, its device, its storage format? Any other number or text is a value.
bool describes_tensor(const PickleGraph& graph, const PtLink& link, size_t i);

// Of a call that makes an array of numpy: are there values among its arguments that numpy does not write?
// False for all other calls.
bool holds_more_than_array(const PickleGraph& graph, const PtLink& link);

}  // namespace assay

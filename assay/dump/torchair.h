// Dumps of TorchAir: operators of the graph engine, and nodes of the FX graph run eagerly.
// docs/formats/torchair.md
#pragma once

#include "assay/dump/layout.h"

namespace assay {

extern const Layout torchair_ge_layout;  // {time}/{device}/{model}/{model id}/{token}, and the graph as text
extern const Layout torchair_fx_layout;  // .npy files named after FX nodes

}  // namespace assay

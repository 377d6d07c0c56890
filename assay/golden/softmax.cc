#include "assay/golden/families.h"

namespace assay {

GoldenFamily golden_softmaxes() { return {}; }

}  // namespace assay

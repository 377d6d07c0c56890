#include "assay/golden/families.h"

namespace assay {

GoldenFamily golden_ropes() { return {}; }

}  // namespace assay

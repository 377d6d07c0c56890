#include "assay/golden/families.h"

namespace assay {

GoldenFamily golden_elewise() { return {}; }

}  // namespace assay

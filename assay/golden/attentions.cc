#include "assay/golden/families.h"

namespace assay {

GoldenFamily golden_attentions() { return {}; }

}  // namespace assay

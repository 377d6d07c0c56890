// The table of `msit llm logitscmp`: logits_cmp_res_{time}.csv, the time in the zone of Beijing.
#pragma once

#include "assay/report/report.h"

namespace assay {

Profile logitscmp_profile(DType dtype);  // dtype: what one ULP means

}  // namespace assay

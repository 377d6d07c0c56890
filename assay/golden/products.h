// The operators that multiply matrices, as products.cc lists them.
#pragma once

#include "assay/golden/golden.h"

namespace assay {

Result<GoldenOutputs> golden_linear(const GoldenCall& call);                       // linear.cc
Result<GoldenOutputs> golden_matmul(const GoldenCall& call);                       // linear.cc
Result<GoldenOutputs> golden_linear_parallel(const GoldenCall& call);              // linear_parallel.cc
Result<GoldenOutputs> golden_grouped_matmul_inplace_add(const GoldenCall& call);   // grouped_matmul.cc
Result<GoldenOutputs> golden_grouped_matmul_with_routing(const GoldenCall& call);  // grouped_matmul.cc
Result<GoldenOutputs> golden_strided_batch_matmul(const GoldenCall& call);         // strided_batch_matmul.cc

}  // namespace assay

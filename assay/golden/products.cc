#include "assay/golden/products.h"

#include "assay/golden/families.h"
#include "assay/golden/numbers.h"

namespace assay {
namespace {

Result<GoldenOutputs> refuse_sparse(const GoldenCall& call) {
  ASSAY_TRY_DO(call.params.flag({"transposeA"}));
  ASSAY_TRY_DO(call.params.flag({"transposeB"}));
  return fail(ErrorKind::unsupported,
              "the weight is compressed, and how is known to the compressor only: nothing to compute with");
}

std::optional<size_t> accumulator(const GoldenParams& params) {
  const bool adds = params.flag_or({"enAccum"}, false).value_or(false);
  return adds ? std::optional<size_t>(2) : std::nullopt;
}

constexpr GoldenOp kProductOps[] = {
    {"GroupedMatmulInplaceAddOperation",
     golden_grouped_matmul_inplace_add,
     "products of groups of terms, each added to its part of a sum",
     {{}, false, [](const GoldenParams&) { return std::optional<size_t>(3); }}},
    {"GroupedMatmulWithRoutingOperation", golden_grouped_matmul_with_routing,
     "rows times the weight of their expert, by token"},
    {"LinearOperation",
     golden_linear,
     "x times a weight, with bias, accumulator or scales of int8",
     {{}, false, accumulator}},
    {"LinearParallelOperation", golden_linear_parallel,
     "a linear whose sums or rows are shared out over ranks"},
    {"LinearSparseOperation", refuse_sparse, "a linear of a compressed weight: not checkable"},
    {"MatmulOperation", golden_matmul, "the product of two tensors, written as f16"},
    {"StridedBatchMatmulOperation", golden_strided_batch_matmul,
     "products of matrices that lie in flat buffers, per batch and head"},
};

}  // namespace

GoldenFamily golden_products() { return kProductOps; }

}  // namespace assay

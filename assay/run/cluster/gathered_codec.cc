#include "assay/run/cluster/gathered_codec.h"

namespace assay {
bool can_encode(const GatherPlan& plan) {
  return plan.own_sums.empty() && (plan.needs & (gather::quantiles | gather::ulp_quantiles)) == 0;
}

void encode_gathered(const Gathered& gathered, Encoder& out) {
  out.put(gathered.mine_dtype);
  out.put(gathered.golden_dtype);
  out.put(gathered.pair);
  out.put(gathered.relative);
  out.put(gathered.ulp);
  out.put(gathered.softmax);
}

Gathered decode_gathered(Decoder& in) {
  Gathered gathered;
  gathered.mine_dtype = in.get<DType>();
  gathered.golden_dtype = in.get<DType>();
  gathered.pair = in.get<PairSums>();
  gathered.relative = in.get<RelativeSums>();
  gathered.ulp = in.get<UlpSums>();
  gathered.softmax = in.get<SoftmaxSums>();
  return gathered;
}

}  // namespace assay

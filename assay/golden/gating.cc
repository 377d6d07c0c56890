// Gating: which tokens chose each expert.
#include "assay/golden/elements.h"
#include "assay/golden/indexings.h"

#include <algorithm>
#include <numeric>

namespace assay {
namespace {

struct GatingParams {
  int64_t chosen = 1;               // experts that each token chose
  int64_t experts = 0;              // in all; 0: they are not counted
  std::vector<int64_t> local = {};  // those of this device, in rising order; empty: all
  DType count_type = DType::i32;
};

Result<GatingParams> gating_params(const GoldenCall& call) {
  GatingParams params;
  ASSAY_TRY(params.chosen, call.params.integer({"topkExpertNum"}));
  ASSAY_TRY(params.experts, call.params.integer({"cumSumNum"}));
  ASSAY_TRY(params.local, call.params.integers_or({"deviceExpert"}, {}));
  constexpr int64_t kMany = 1 << 20;
  if (params.chosen < 1)
    return fail(ErrorKind::bad_argument, "the parameter topkExpertNum is {}, which is less than 1",
                params.chosen);
  if (params.experts < 0 || params.experts > kMany)
    return fail(ErrorKind::bad_argument, "the parameter cumSumNum is {}, which is not between 0 and {}",
                params.experts, kMany);
  std::ranges::sort(params.local);
  if (!params.local.empty() && (params.local.front() < 0 || params.local.back() >= params.experts ||
                                std::ranges::adjacent_find(params.local) != params.local.end()))
    return fail(ErrorKind::bad_argument, "deviceExpert names an expert twice, or none of the {}",
                params.experts);
  // ATB does not write the parameter: what was dumped tells.
  const bool is_wide = call.out.size() > 1 && call.out[1].dtype == DType::i64;
  ASSAY_TRY(const bool wants_wide, call.params.flag_or({"cumSumInt64"}, is_wide));
  if (wants_wide) params.count_type = DType::i64;
  return params;
}

}  // namespace

// in: the experts that were chosen [N], their places [N]
Result<GoldenOutputs> golden_gating(const GoldenCall& call) {
  ASSAY_TRY_DO(check_given(call, 2, 2));
  ASSAY_TRY(const GatingParams params, gating_params(call));
  ASSAY_TRY(const Integers experts, integers_of(call, 0));
  ASSAY_TRY(const Integers places, integers_of(call, 1));
  const size_t count = experts.values.size();
  if (places.values.size() != count)
    return fail(ErrorKind::mismatch, "{} experts and {} places", count, places.values.size());
  std::vector<int64_t> order(count);
  std::iota(order.begin(), order.end(), 0);
  const auto expert_of = [&](int64_t i) { return experts.values[static_cast<size_t>(i)]; };
  std::ranges::stable_sort(order, {}, expert_of);

  const bool is_counted = params.experts > 0;
  std::vector<int64_t> counts(static_cast<size_t>(std::max<int64_t>(params.experts, 1)), 0);
  if (is_counted)
    for (const int64_t expert : experts.values) {
      if (expert < 0 || expert >= params.experts)
        return fail(ErrorKind::mismatch, "the expert {} is none of the {}", expert, params.experts);
      ++counts[static_cast<size_t>(expert)];
    }
  std::vector<int64_t> sums;
  if (params.local.empty()) {
    sums = counts;
  } else {
    for (const int64_t expert : params.local) sums.push_back(counts[static_cast<size_t>(expert)]);
    std::erase_if(order, [&](int64_t i) { return !std::ranges::binary_search(params.local, expert_of(i)); });
  }
  std::partial_sum(sums.begin(), sums.end(), sums.begin());

  Integers original{Shape{{static_cast<int64_t>(count)}}, std::vector<int64_t>(count, 0)};
  Integers tokens = original;
  for (size_t i = 0; i < order.size(); ++i) {
    const int64_t place = places.values[static_cast<size_t>(order[i])];
    original.values[i] = place;
    if (is_counted) {
      const int64_t rest = place % params.chosen;
      tokens.values[i] = place / params.chosen - (rest < 0 ? 1 : 0);
    }
  }
  const DType dtype = dtype_of(call, 0);
  const Shape sums_shape{{std::ssize(sums)}};
  GoldenOutputs outputs{expected(dtype, tokens), expected(params.count_type, Integers{sums_shape, sums}),
                        expected(dtype, original)};
  if (!params.local.empty()) outputs.push_back(expected(dtype, Integers{Shape{{1}}, {std::ssize(order)}}));
  return outputs;
}

}  // namespace assay

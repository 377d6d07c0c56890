// Experts of groups that are not among the best are set to zero.
#include "assay/golden/elements.h"
#include "assay/golden/indexings.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <functional>
#include <numeric>

namespace assay {

// in: scores [tokens, experts] (f16, bf16), which are written, and their numbers, which ATB needs alone
Result<GoldenOutputs> golden_group_topk(const GoldenCall& call) {
  constexpr int64_t kFlags[] = {0, 1};
  ASSAY_TRY_DO(check_given(call, 1, 2));
  ASSAY_TRY_DO(check_rank(call, 0, 2));
  ASSAY_TRY(const int64_t groups, call.params.integer_or({"groupNum"}, 1));
  ASSAY_TRY(const int64_t kept, call.params.integer_or({"k"}, 0));
  ASSAY_TRY(const int64_t sums_several, call.params.choice_or({"groupMultiFlag"}, 0, kFlags));
  ASSAY_TRY(const int64_t several, call.params.integer_or({"n"}, 1));
  const int64_t tokens = shape_of(call, 0).dims[0], experts = shape_of(call, 0).dims[1];
  const int64_t best = sums_several != 0 ? several : 1;
  if (groups < 1 || experts % groups != 0 || kept < 0 || kept > groups || best < 1 || best > experts / groups)
    return fail(ErrorKind::bad_argument,
                "groupNum {}, k {} and n {} do not fit {} experts: groups of one size, k of them, n in each",
                groups, kept, best, experts);
  const int64_t width = experts / groups;
  ASSAY_TRY(const Numbers scores, numbers_of(call, 0));
  ASSAY_TRY(Elements out, elements_of(call, 0));
  ASSAY_TRY(Elements known, zero_elements(call, DType::u8, shape_of(call, 0)));
  std::ranges::fill(known.bytes, std::byte{1});
  bool is_all_known = true;
  std::vector<double> part(static_cast<size_t>(width)), sums(static_cast<size_t>(groups));
  std::vector<int64_t> order(static_cast<size_t>(groups));
  for (int64_t token = 0; token < tokens; ++token) {
    for (int64_t g = 0; g < groups; ++g) {
      const double* const first = scores.values.data() + token * experts + g * width;
      std::copy_n(first, width, part.begin());
      std::ranges::partial_sort(part, part.begin() + best, std::greater<>());
      sums[static_cast<size_t>(g)] = std::accumulate(part.begin(), part.begin() + best, 0.0);
    }
    std::iota(order.begin(), order.end(), 0);
    std::ranges::stable_sort(order, std::greater<>(),
                             [&](int64_t g) { return sums[static_cast<size_t>(g)]; });
    const bool has_nan = std::ranges::any_of(sums, [](double sum) { return std::isnan(sum); });
    // Sums that f32 does not tell apart may come in either order; a single score has nothing to round.
    bool is_sure = !has_nan;
    if (kept > 0 && kept < groups && best > 1) {
      const double in = sums[static_cast<size_t>(order[static_cast<size_t>(kept - 1)])];
      const double next = sums[static_cast<size_t>(order[static_cast<size_t>(kept)])];
      is_sure = is_sure && (in == next || in - next > 0x1p-22 * static_cast<double>(best) * std::abs(in));
    }
    is_all_known = is_all_known && is_sure;
    if (!is_sure) std::memset(known.at(token * experts), 0, static_cast<size_t>(experts));
    for (int64_t i = kept; i < groups; ++i) {
      const int64_t first = token * experts + order[static_cast<size_t>(i)] * width;
      std::memset(out.at(first), 0, static_cast<size_t>(width * out.size()));
    }
  }
  Expected result = exactly(std::move(out));
  if (!is_all_known) {
    result.known = operand_of(std::move(known));
    result.note = "sums of two groups that rounding may exchange, or NaN";
  }
  return GoldenOutputs{std::move(result)};
}

}  // namespace assay

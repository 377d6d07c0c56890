// Slices and elements added at indices: IndexAdd, ScatterElementsV2.
#include "assay/golden/elements.h"
#include "assay/golden/indexings.h"
#include "assay/golden/sums.h"

#include <algorithm>

namespace assay {
namespace {

// Element `from` of the updates goes to element `to` of the tensor, factor times.
struct Addition {
  int64_t to = 0, from = 0;
};

Expected added_whole(DType dtype, Integers sums, const Integers& updates, std::span<const Addition> additions,
                     int64_t factor) {
  for (const auto& [to, from] : additions) {
    int64_t& sum = sums.values[static_cast<size_t>(to)];
    const uint64_t term =
        static_cast<uint64_t>(updates.values[static_cast<size_t>(from)]) * static_cast<uint64_t>(factor);
    sum = wrapped(dtype, static_cast<int64_t>(static_cast<uint64_t>(sum) + term));
  }
  return expected(dtype, sums);
}

// Each product, and each sum but the last, is rounded with unit roundoff u; f64, which is not rounded once
// more, has the error of the last one too.
Expected added_real(DType dtype, Numbers sums, const Numbers& updates, std::vector<Addition> additions,
                    double factor, double u) {
  std::vector<float> allowed(sums.values.size(), 0);
  const DType step_type = u == unit_roundoff(dtype) ? dtype : DType::f32;
  const double least = dtype == DType::f16 ? 0x1p-14 : 0x1p-126;  // below, steps are those of this number
  int exponent = 0;
  const bool is_exact = std::abs(std::frexp(factor, &exponent)) == 0.5;  // a power of two
  std::ranges::stable_sort(additions, {}, &Addition::to);
  for (auto first = additions.begin(); first != additions.end();) {
    const auto place = static_cast<size_t>(first->to);
    SumError sum, before_last;
    double products = 0, stepwise = sums.values[place];
    int64_t steps = 0;
    sum.add(sums.values[place]);
    for (; first != additions.end() && static_cast<size_t>(first->to) == place; ++first) {
      const double term = updates.values[static_cast<size_t>(first->from)] * factor;
      before_last = sum;
      sum.add(term);
      const double size = std::max(std::abs(term), least);
      products += size * size;
      ++steps;
      stepwise = rounded_to(step_type, stepwise + rounded_to(step_type, term));
    }
    // Four random walks cover any sixteen steps; more of them may all be rounded the same way.
    constexpr int64_t kCovered = 16;
    double error = dtype == DType::f64 ? sum.error(u) : before_last.error(u);
    if (steps > kCovered) error = std::max(error, 1.5 * std::abs(stepwise - sum.sum()));
    sums.values[place] = sum.sum();
    allowed[place] = as_allowed(error + (is_exact ? 0 : 4 * u * std::sqrt(products)));
  }
  return expected(dtype, std::move(sums), std::move(allowed));
}

Result<GoldenOutputs> added(const GoldenCall& call, std::vector<Addition> additions, double factor,
                            double u) {
  const DType dtype = dtype_of(call, 0);
  if (is_whole_type(dtype)) {
    ASSAY_TRY(Integers sums, integers_of(call, 0));
    ASSAY_TRY(const Integers updates, integers_of(call, 2));
    return GoldenOutputs{
        added_whole(dtype, std::move(sums), updates, additions, static_cast<int64_t>(factor))};
  }
  ASSAY_TRY(Numbers sums, numbers_of(call, 0));
  ASSAY_TRY(const Numbers updates, numbers_of(call, 2));
  return GoldenOutputs{added_real(dtype, std::move(sums), updates, std::move(additions), factor, u)};
}

}  // namespace

// in: tensor, indices [n], updates, and a factor [1] (1) or how many of the indices count [1] (2)
Result<GoldenOutputs> golden_index_add(const GoldenCall& call) {
  constexpr int64_t kTypes[] = {1, 2};
  ASSAY_TRY_DO(check_given(call, 4, 4));
  ASSAY_TRY(const int64_t type, call.params.choice({"indexType"}, kTypes));
  ASSAY_TRY(const int64_t number, call.params.integer({"axis"}));
  const Shape& shape = shape_of(call, 0);
  ASSAY_TRY(const size_t axis, dimension(shape, number, "axis"));
  ASSAY_TRY_DO(check_same_type(call, 0, 2));
  ASSAY_TRY(const Integers indices, integers_of(call, 1));
  Shape wanted = shape;
  wanted.dims[axis] = indices.count();
  if (shape_of(call, 2) != wanted)
    return fail(ErrorKind::mismatch, "updates of shape {} for {} indices into {}", shape_of(call, 2).text(),
                indices.count(), shape.text());
  ASSAY_TRY(const Numbers last, numbers_of(call, 3));
  if (last.count() != 1)
    return fail(ErrorKind::mismatch, "input 3 of {} has the shape {}, not [1]", call.type, last.shape.text());
  int64_t valid = indices.count();
  if (type == 2) {
    if (!(last.values[0] >= 0) || last.values[0] > static_cast<double>(valid))
      return fail(ErrorKind::mismatch, "{} of {} indices count", last.values[0], valid);
    valid = static_cast<int64_t>(last.values[0]);
  }

  const int64_t outer = extent_between(shape, 0, axis), extent = shape.dims[axis];
  const int64_t inner = extent_between(shape, axis + 1, shape.dims.size());
  if (shape_of(call, 2).count() > call.memory / 2 / static_cast<int64_t>(sizeof(Addition)))
    return fail(ErrorKind::limit, "updates of shape {} need more memory than --memory allows",
                shape_of(call, 2).text());
  std::vector<Addition> additions;
  for (int64_t i = 0; i < valid; ++i) {
    const int64_t index = indices.values[static_cast<size_t>(i)];
    if (index < 0 || index >= extent)
      return fail(ErrorKind::mismatch, "the index {} lies outside the {} of dimension {}", index, extent,
                  axis);
    for (int64_t o = 0; o < outer; ++o)
      for (int64_t k = 0; k < inner; ++k)
        additions.push_back({(o * extent + index) * inner + k, (o * indices.count() + i) * inner + k});
  }
  // The second kind adds up in f32 and rounds once.
  const DType dtype = dtype_of(call, 0);
  return type == 1 ? added(call, std::move(additions), last.values[0], unit_roundoff(dtype))
                   : added(call, std::move(additions), 1, unit_of_arithmetic(dtype));
}

// in: tensor, indices, updates of their shape
Result<GoldenOutputs> golden_scatter_elements(const GoldenCall& call) {
  constexpr int64_t kReductions[] = {0, 1};
  ASSAY_TRY_DO(check_given(call, 3, 3));
  ASSAY_TRY(const int64_t number, call.params.integer_or({"axis"}, -1));
  ASSAY_TRY(const int64_t reduction, call.params.choice_or({"reduction"}, 0, kReductions));
  const Shape& shape = shape_of(call, 0);
  ASSAY_TRY(const size_t axis, dimension(shape, number, "axis"));
  ASSAY_TRY_DO(check_same_type(call, 0, 2));
  ASSAY_TRY(const Integers indices, integers_of(call, 1));
  bool fits = shape_of(call, 2) == indices.shape && indices.shape.dims.size() == shape.dims.size();
  for (size_t d = 0; fits && d < shape.dims.size(); ++d)
    fits = d == axis || indices.shape.dims[d] <= shape.dims[d];
  if (!fits)
    return fail(ErrorKind::mismatch, "indices of shape {} and updates of shape {} do not fit {}",
                indices.shape.text(), shape_of(call, 2).text(), shape.text());

  const std::vector<int64_t> strides = strides_of(shape), steps = strides_of(indices.shape);
  std::vector<Addition> additions;
  for (int64_t i = 0; i < indices.count(); ++i) {
    const int64_t index = indices.values[static_cast<size_t>(i)];
    if (index < 0 || index >= shape.dims[axis])
      return fail(ErrorKind::mismatch, "the index {} lies outside the {} of dimension {}", index,
                  shape.dims[axis], axis);
    int64_t to = 0, rest = i;
    for (size_t d = 0; d < strides.size(); ++d) {
      to += (d == axis ? index : rest / steps[d]) * strides[d];
      rest %= steps[d];
    }
    additions.push_back({to, i});
  }
  if (reduction == 1) return added(call, std::move(additions), 1, unit_roundoff(dtype_of(call, 0)));

  ASSAY_TRY(Elements out, elements_of(call, 0));
  ASSAY_TRY(const Elements updates, elements_of(call, 2));
  ASSAY_TRY(Elements known, zero_elements(call, DType::u8, shape));
  std::ranges::fill(known.bytes, std::byte{1});
  std::vector<bool> written(known.bytes.size(), false);
  bool has_rivals = false;
  for (const auto& [to, from] : additions) {
    const auto place = static_cast<size_t>(to);
    if (written[place] && !std::equal(out.at(to), out.at(to) + out.size(), updates.at(from))) {
      known.bytes[place] = std::byte{0};
      has_rivals = true;
    }
    written[place] = true;
    std::copy_n(updates.at(from), out.size(), out.at(to));
  }
  GoldenOutputs outputs{exactly(std::move(out))};
  if (has_rivals) {
    outputs[0].known = operand_of(std::move(known));
    outputs[0].note = "several updates go to one place, and which of them is the last one is not defined";
  }
  return outputs;
}

}  // namespace assay

// What a norm is taken of where tensors are added first, in each of the ways in which kernels round.
#include "assay/golden/norms.h"

#include <algorithm>
#include <cmath>

namespace assay {
namespace {

bool is_short(DType dtype) { return dtype == DType::f16 || dtype == DType::bf16; }

// A sum or a product as f32 makes it, which is exact for most pairs of short numbers.
void add_error_of_f32(std::span<const double> values, double unit, std::span<double> errors) {
  for (size_t i = 0; i < values.size(); ++i)
    if (static_cast<double>(static_cast<float>(values[i])) != values[i])
      errors[i] += unit * std::abs(values[i]);
}

// One stretch of the sum.
class Adder {
 public:
  Adder(DType dtype, size_t count)
      : dtype_(dtype), unit_(unit_of_arithmetic(dtype)), sum_(count), error_(count) {}

  void begin(std::span<const double> x, double factor, bool rounds) {
    take(x, factor, rounds);
    sum_ = term_;
    error_ = of_term_;
  }
  void add(std::span<const double> x, double factor, bool rounds_term, bool rounds_sum) {
    take(x, factor, rounds_term);
    for (size_t i = 0; i < sum_.size(); ++i) {
      sum_[i] += term_[i];
      error_[i] += of_term_[i];
    }
    add_error_of_f32(sum_, unit_, error_);
    if (rounds_sum) round_numbers(dtype_, sum_, error_);
  }
  std::span<const double> values() const { return sum_; }
  std::span<const double> errors() const { return error_; }

 private:
  void take(std::span<const double> x, double factor, bool rounds) {
    term_.assign(x.begin(), x.end());
    of_term_.assign(x.size(), 0);
    if (factor == 1) return;
    for (double& each : term_) each *= factor;
    add_error_of_f32(term_, unit_, of_term_);
    if (rounds) round_numbers(dtype_, term_, of_term_);
  }

  DType dtype_;
  double unit_;
  std::vector<double> sum_, error_, term_, of_term_;
};

}  // namespace

std::vector<SumWay> sum_ways(DType dtype, size_t others, double factor) {
  std::vector<SumWay> ways = {{}};
  if (others == 0 || !is_short(dtype)) return ways;
  if (others == 1) {
    ways.push_back({.of_sum = true});
    if (factor != 1) {
      ways.push_back({.of_terms = true, .of_sum = true});
      ways.push_back({.of_terms = true});
    }
    return ways;
  }
  // The residual and the bias, in any order.
  ways.push_back({.of_sum = true});
  for (const size_t last : {size_t{2}, size_t{1}, size_t{0}})
    for (const bool of_sum : {true, false})
      ways.push_back({.of_partial = true, .of_sum = of_sum, .last = last});
  return ways;
}

Result<BoundedNumbers> norm_input(const GoldenCall& call, std::span<const size_t> others, double factor,
                                  const SumWay& way) {
  const DType dtype = dtype_of(call, 0);
  if (others.empty()) return sum_of_inputs(call, {}, 1);
  if (!is_short(dtype)) {
    ASSAY_TRY(BoundedNumbers sum, sum_of_inputs(call, others, factor));
    const double u = unit_roundoff(dtype);
    for (size_t i = 0; i < sum.allowed.size(); ++i)
      sum.allowed[i] += allowance(u * std::abs(sum.value.values[i]));
    return sum;
  }
  ASSAY_TRY_DO(check_real(call, 0));
  ASSAY_TRY(Numbers first, numbers_of(call, 0));
  std::vector<Numbers> added;
  for (const size_t i : others) {
    ASSAY_TRY_DO(check_same_type(call, i));
    ASSAY_TRY(const Numbers narrow, numbers_of(call, i));
    ASSAY_TRY(added.emplace_back(), broadcast(narrow, first.shape));
  }
  // In the order of this way; the first has no factor.
  std::vector<const Numbers*> terms = {&first};
  for (const Numbers& each : added) terms.push_back(&each);
  if (way.of_partial)
    std::rotate(terms.begin() + static_cast<std::ptrdiff_t>(way.last),
                terms.begin() + static_cast<std::ptrdiff_t>(way.last) + 1, terms.end());
  ASSAY_TRY(BoundedNumbers out, zeros_with_bounds(first.shape));
  constexpr int64_t kAtOnce = 4096;
  const int64_t count = out.value.count();
  in_parallel((count + kAtOnce - 1) / kAtOnce, 8 * kAtOnce, [&](int64_t begin, int64_t end) {
    for (int64_t at = begin * kAtOnce; at < std::min(end * kAtOnce, count); at += kAtOnce) {
      const auto from = static_cast<size_t>(at), some = static_cast<size_t>(std::min(kAtOnce, count - at));
      Adder adder(dtype, some);
      for (size_t k = 0; k < terms.size(); ++k) {
        const auto part = std::span(terms[k]->values).subspan(from, some);
        const double own = terms[k] == &first ? 1 : factor;
        if (k == 0)
          adder.begin(part, own, way.of_terms);
        else
          adder.add(part, own, way.of_terms, k + 1 == terms.size() ? way.of_sum : way.of_partial);
      }
      std::ranges::copy(adder.values(), out.value.values.begin() + at);
      std::ranges::transform(adder.errors(), out.allowed.begin() + at, allowance);
    }
  });
  return out;
}

}  // namespace assay

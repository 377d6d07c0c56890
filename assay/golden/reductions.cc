#include "assay/golden/elements.h"
#include "assay/golden/families.h"
#include "assay/golden/sums.h"

#include <algorithm>
#include <numeric>

namespace assay {
namespace {

// Integers hold u64 as i64: beyond 2^63 they would compare the wrong way round.
Result<void> check_naturals(const GoldenCall& call, const Integers& data) {
  if (dtype_of(call, 0) == DType::u64 && std::ranges::any_of(data.values, [](int64_t x) { return x < 0; }))
    return fail(ErrorKind::unsupported, "{} of u64 beyond 2^63 is not computed", call.type);
  return {};
}

// ----- prefixes

// The places of one line of a tensor in the order in which they are added up.
struct LineSteps {
  int64_t lines = 0, extent = 0, inner = 1;
  bool is_reversed = false;

  size_t place(int64_t line, int64_t k) const {
    const int64_t along = is_reversed ? extent - 1 - k : k;
    return static_cast<size_t>((line / inner * extent + along) * inner + line % inner);
  }
};

Result<GoldenOutputs> compute_cumsum(const GoldenCall& call) {
  ASSAY_TRY_DO(check_given(call, 1, 1));
  ASSAY_TRY(const std::vector<int64_t> axes, call.params.integers({"axes"}));
  ASSAY_TRY(const bool is_exclusive, call.params.flag_or({"exclusive"}, false));
  ASSAY_TRY(const bool is_reversed, call.params.flag_or({"reverse"}, false));
  if (axes.empty()) return fail(ErrorKind::bad_argument, "the parameter axes is empty");
  const Shape& shape = shape_of(call, 0);
  ASSAY_TRY(const size_t axis, dimension(shape, axes[0], "axes"));
  LineSteps steps;
  steps.extent = shape.dims[axis];
  steps.inner = extent_between(shape, axis + 1, shape.dims.size());
  steps.lines = extent_between(shape, 0, axis) * steps.inner;
  steps.is_reversed = is_reversed;
  const DType dtype = dtype_of(call, 0);
  if (is_whole_type(dtype)) {
    ASSAY_TRY(Integers data, integers_of(call, 0));
    for (int64_t line = 0; line < steps.lines && steps.extent > 0; ++line) {
      uint64_t sum = 0;
      for (int64_t k = 0; k < steps.extent; ++k) {
        int64_t& element = data.values[steps.place(line, k)];
        const uint64_t next = sum + static_cast<uint64_t>(element);
        element = wrapped(dtype, static_cast<int64_t>(is_exclusive ? sum : next));
        sum = next;
      }
    }
    return GoldenOutputs{expected(dtype, data)};
  }
  ASSAY_TRY(Numbers data, numbers_of(call, 0));
  std::vector<float> allowed(data.values.size(), 0);
  const double u = unit_of_arithmetic(dtype);
  if (steps.extent > 0)
    in_parallel(steps.lines, 10 * steps.extent, [&](int64_t first, int64_t last) {
      for (int64_t line = first; line < last; ++line) {
        SumError sum;
        for (int64_t k = 0; k < steps.extent; ++k) {
          const size_t place = steps.place(line, k);
          const double term = data.values[place];
          if (!is_exclusive) sum.add(term);
          data.values[place] = sum.sum();
          allowed[place] = as_allowed(sum.error(u));
          if (is_exclusive) sum.add(term);
        }
      }
    });
  return GoldenOutputs{expected(dtype, std::move(data), std::move(allowed))};
}

// ----- over dimensions

struct Reduction {
  Shape shape;                  // of what is left
  std::vector<int64_t> firsts;  // the first element of each result
  std::vector<int64_t> steps;   // from there to all that belong to it
};

Result<Reduction> reduction_of(const GoldenCall& call, std::span<const int64_t> axes) {
  const Shape& shape = shape_of(call, 0);
  std::vector<bool> is_reduced(shape.dims.size(), false);
  for (const int64_t number : axes) {
    ASSAY_TRY(const size_t axis, dimension(shape, number, "axis"));
    is_reduced[axis] = true;
  }
  Reduction out;
  out.firsts = {0}, out.steps = {0};
  const std::vector<int64_t> strides = strides_of(shape);
  for (size_t d = 0; d < shape.dims.size(); ++d) {
    if (!is_reduced[d]) out.shape.dims.push_back(shape.dims[d]);
    std::vector<int64_t>& list = is_reduced[d] ? out.steps : out.firsts;
    std::vector<int64_t> longer;
    longer.reserve(list.size() * static_cast<size_t>(shape.dims[d]));
    for (const int64_t place : list)
      for (int64_t i = 0; i < shape.dims[d]; ++i) longer.push_back(place + i * strides[d]);
    list = std::move(longer);
  }
  if (out.shape.dims.empty()) out.shape = single_shape(call, 0);
  return out;
}

enum ReduceType : int64_t { kReduceMax = 1, kReduceMin = 2, kReduceSum = 3 };

Expected reduced_whole(DType dtype, const Integers& data, const Reduction& reduction, int64_t type) {
  Integers out{reduction.shape, {}};
  for (const int64_t first : reduction.firsts) {
    const auto at = [&](int64_t step) { return data.values[static_cast<size_t>(first + step)]; };
    uint64_t sum = 0;
    int64_t high = INT64_MIN, low = INT64_MAX;
    for (const int64_t step : reduction.steps) {
      sum += static_cast<uint64_t>(at(step));
      high = std::max(high, at(step)), low = std::min(low, at(step));
    }
    out.values.push_back(type == kReduceMax   ? high
                         : type == kReduceMin ? low
                                              : wrapped(dtype, static_cast<int64_t>(sum)));
  }
  return expected(dtype, out);
}

Expected reduced_real(DType dtype, const Numbers& data, const Reduction& reduction, int64_t type) {
  Numbers out{reduction.shape, std::vector<double>(reduction.firsts.size())};
  std::vector<float> allowed(type == kReduceSum ? reduction.firsts.size() : 0);
  const double u = unit_of_arithmetic(dtype);
  in_parallel(out.count(), 10 * std::ssize(reduction.steps), [&](int64_t begin, int64_t end) {
    for (auto i = static_cast<size_t>(begin); i < static_cast<size_t>(end); ++i) {
      SumError sum;
      double extreme = type == kReduceMax ? -INFINITY : INFINITY;
      for (const int64_t step : reduction.steps) {
        const double x = data.values[static_cast<size_t>(reduction.firsts[i] + step)];
        sum.add(x);
        if (std::isnan(x)) extreme = x;
        if (!std::isnan(extreme)) extreme = type == kReduceMax ? std::max(extreme, x) : std::min(extreme, x);
      }
      out.values[i] = type == kReduceSum ? sum.sum() : extreme;
      if (type == kReduceSum) allowed[i] = as_allowed(sum.error(u));
    }
  });
  return expected(dtype, std::move(out), std::move(allowed));
}

Result<GoldenOutputs> compute_reduce(const GoldenCall& call) {
  constexpr int64_t kTypes[] = {kReduceMax, kReduceMin, kReduceSum};
  ASSAY_TRY_DO(check_given(call, 1, 1));
  ASSAY_TRY(const int64_t type, call.params.choice({"reduceType"}, kTypes));
  ASSAY_TRY(const std::vector<int64_t> axes, call.params.integers({"axis"}));
  if (axes.empty()) return fail(ErrorKind::bad_argument, "the parameter axis is empty");
  const DType dtype = dtype_of(call, 0);
  Integers whole;
  Numbers real;
  if (is_whole_type(dtype)) {
    ASSAY_TRY(whole, integers_of(call, 0));
    ASSAY_TRY_DO(check_naturals(call, whole));
  } else {
    ASSAY_TRY(real, numbers_of(call, 0));
  }
  ASSAY_TRY(const Reduction reduction, reduction_of(call, axes));
  if (type != kReduceSum && reduction.steps.empty() && !reduction.firsts.empty())
    return fail(ErrorKind::mismatch, "there is no extreme of no elements: {}", shape_of(call, 0).text());
  return GoldenOutputs{is_whole_type(dtype) ? reduced_whole(dtype, whole, reduction, type)
                                            : reduced_real(dtype, real, reduction, type)};
}

// ----- order

// Places of the largest `k`, the largest first; of equal ones the first, and NaN before all, as torch has it.
template <class T>
std::vector<int64_t> places_of_largest(std::span<const T> row, int64_t k) {
  std::vector<int64_t> places(row.size());
  std::iota(places.begin(), places.end(), 0);
  const auto is_before = [&](int64_t a, int64_t b) {
    const T x = row[static_cast<size_t>(a)], y = row[static_cast<size_t>(b)];
    const bool x_is_nan = x != x, y_is_nan = y != y;
    if (x_is_nan != y_is_nan) return x_is_nan;
    if (!x_is_nan && x != y) return x > y;
    return a < b;
  };
  std::ranges::partial_sort(places, places.begin() + k, is_before);
  places.resize(static_cast<size_t>(k));
  return places;
}

Result<GoldenOutputs> compute_sort(const GoldenCall& call) {
  ASSAY_TRY_DO(check_given(call, 1, 1));
  ASSAY_TRY(const std::vector<int64_t> num, call.params.integers({"num"}));
  if (num.empty()) return fail(ErrorKind::bad_argument, "the parameter num is empty");
  const Shape& shape = shape_of(call, 0);
  if (shape.dims.empty()) return fail(ErrorKind::mismatch, "a scalar has no last dimension to sort");
  const int64_t width = shape.dims.back(), k = num[0];
  if (k < 1 || k > width)
    return fail(ErrorKind::bad_argument, "the parameter num is {}, which is not between 1 and {}", k, width);
  ASSAY_TRY(const Elements data, elements_of(call, 0));
  const bool is_whole = is_whole_type(data.meta.dtype);
  Integers whole;
  Numbers real;
  if (is_whole) {
    ASSAY_TRY(whole, integers_of(call, 0));
    ASSAY_TRY_DO(check_naturals(call, whole));
  } else {
    ASSAY_TRY(real, numbers_of(call, 0));
  }
  Shape kept = shape;
  kept.dims.back() = k;
  ASSAY_TRY(Elements values, zero_elements(call, data.meta.dtype, kept));
  Integers places{kept, std::vector<int64_t>(static_cast<size_t>(kept.count()))};
  in_parallel(kept.count() / k, 20 * width, [&](int64_t begin, int64_t end) {
    for (int64_t row = begin; row < end; ++row) {
      const auto first = static_cast<size_t>(row * width), count = static_cast<size_t>(width);
      const std::vector<int64_t> largest =
          is_whole ? places_of_largest(std::span<const int64_t>(whole.values).subspan(first, count), k)
                   : places_of_largest(std::span<const double>(real.values).subspan(first, count), k);
      for (int64_t i = 0; i < k; ++i) {
        const int64_t place = largest[static_cast<size_t>(i)];
        places.values[static_cast<size_t>(row * k + i)] = place;
        std::copy_n(data.at(row * width + place), data.size(), values.at(row * k + i));
      }
    }
  });
  return GoldenOutputs{exactly(std::move(values)), expected(DType::i32, places)};
}

constexpr GoldenOp kReductions[] = {
    {"CumsumOperation", compute_cumsum, "sums of all elements up to each, along a dimension"},
    {"ReduceOperation", compute_reduce, "sum, largest or smallest element over dimensions"},
    {"SortOperation", compute_sort, "the largest elements of each row in falling order, and their places"},
};

}  // namespace

GoldenFamily golden_reductions() { return kReductions; }

}  // namespace assay

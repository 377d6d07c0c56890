// Products of which each group, or each expert, has its own part.
#include "assay/base/checked.h"
#include "assay/golden/elements.h"
#include "assay/golden/linear.h"
#include "assay/golden/matrices.h"
#include "assay/golden/products.h"
#include "assay/golden/quantized.h"

#include <algorithm>
#include <cstring>

namespace assay {
namespace {

// Where each group ends; the last one ends at `total`.
Result<Integers> group_ends(const GoldenCall& call, size_t i, int64_t total) {
  ASSAY_TRY(Integers ends, integers_of(call, i));
  int64_t before = 0;
  for (const int64_t end : ends.values) {
    if (end < before || end > total)
      return fail(ErrorKind::mismatch, "a group from {} to {} of {} is none", before, end, total);
    before = end;
  }
  if (before != total) return fail(ErrorKind::mismatch, "groups end at {} where there are {}", before, total);
  return ends;
}

// ----- routing: experts, each with a weight

struct Routing {
  int64_t rows = 0, columns = 0;  // of all products, one below the other
  Integers tokens;                // of each row, the token that it comes from, or is added to
  bool adds = false;              // to its token; else each row stays
  int64_t outputs = 0;            // rows of the output
};

Result<Routing> routing_of(const GoldenCall& call, int64_t columns) {
  constexpr int64_t kTypes[] = {0, 1};
  ASSAY_TRY(const int64_t type, call.params.choice_or({"groupedMatmulType"}, 0, kTypes));
  ASSAY_TRY(const int64_t chosen, call.params.integer_or({"topK"}, 1));
  const int64_t given = shape_of(call, 0).dims[0];
  Routing routing;
  ASSAY_TRY(routing.tokens, integers_of(call, 3));
  routing.adds = type == 1;
  routing.rows = routing.tokens.count();
  routing.columns = columns;
  if (chosen < 1 || (routing.adds && given % chosen != 0))
    return fail(ErrorKind::bad_argument, "the parameter topK is {}, for {} rows", chosen, given);
  const int64_t tokens = routing.adds ? given / chosen : given;
  routing.outputs = routing.adds ? tokens : routing.rows;
  if (routing.adds && routing.rows != given)
    return fail(ErrorKind::mismatch, "{} places for {} rows", routing.rows, given);
  for (const int64_t token : routing.tokens.values)
    if (token < 0 || token >= tokens)
      return fail(ErrorKind::mismatch, "the index {} lies outside the {} of dimension 0", token, tokens);
  return routing;
}

// The rows of the first input that the products take, one below the other.
Result<OperandPtr> routed_rows(const GoldenCall& call, const Routing& routing) {
  if (routing.adds) return call.in[0];
  ASSAY_TRY(const Elements given, elements_of(call, 0));
  const int64_t width = shape_of(call, 0).dims[1];
  ASSAY_TRY(Elements rows, zero_elements(call, dtype_of(call, 0), Shape{{routing.rows, width}}));
  for (int64_t i = 0; i < routing.rows && width > 0; ++i)
    std::memcpy(rows.at(i * width), given.at(routing.tokens.values[static_cast<size_t>(i)] * width),
                static_cast<size_t>(width * rows.size()));
  return operand_of(std::move(rows));
}

// Scales of int8: one for each column of each expert, one for each row of the first input.
struct RoutedScales {
  Numbers columns, rows;
};

Result<RoutedScales> routed_scales(const GoldenCall& call, int64_t experts, int64_t columns) {
  RoutedScales scales;
  ASSAY_TRY(scales.columns, numbers_of(call, 4));
  ASSAY_TRY(scales.rows, numbers_of(call, 5));
  if (scales.columns.count() != experts * columns || scales.rows.count() != shape_of(call, 0).dims[0])
    return fail(ErrorKind::mismatch, "scales of {} and {} elements for {} experts of {} columns and {} rows",
                scales.columns.count(), scales.rows.count(), experts, columns, shape_of(call, 0).dims[0]);
  return scales;
}

}  // namespace

// in: x [m, k], weight [k, n], ends of the groups of k, sum [groups · m, n], to which the products are added
Result<GoldenOutputs> golden_grouped_matmul_inplace_add(const GoldenCall& call) {
  ASSAY_TRY_DO(check_given(call, 4, 4));
  ASSAY_TRY(const bool transposes, call.params.flag_or({"transposeA"}, false));
  ASSAY_TRY(const bool transposes_b, call.params.flag_or({"transposeB"}, false));
  if (transposes_b)
    return fail(ErrorKind::bad_argument, "the parameter transposeB is true, which no ATB takes");
  for (const size_t i : {0, 1}) ASSAY_TRY_DO(check_rank(call, i, 2));
  const std::vector<int64_t>&x = shape_of(call, 0).dims, &weight = shape_of(call, 1).dims;
  const int64_t m = x[transposes ? 1 : 0], k = x[transposes ? 0 : 1], n = weight[1];
  if (weight[0] != k)
    return fail(ErrorKind::mismatch, "{} does not multiply {}", shape_of(call, 0).text(),
                shape_of(call, 1).text());
  ASSAY_TRY(const Integers ends, group_ends(call, 2, k));
  ASSAY_TRY(const Numbers sum, numbers_of(call, 3));
  const auto count = checked_multiply(ends.count(), checked_multiply(m, n).value_or(-1));
  if (!count || sum.count() != *count)
    return fail(ErrorKind::mismatch, "a sum of {} for {} groups of [{}, {}]", sum.shape.text(), ends.count(),
                m, n);
  Product product;
  product.transpose_a = transposes;
  product.accumulator = accumulator_of(dtype_of(call, 0), dtype_of(call, 1));
  std::vector<int64_t> groups;  // of the terms: empty ones have none
  int64_t before = 0;
  for (int64_t g = 0; g < ends.count(); ++g) {
    const int64_t end = ends.values[static_cast<size_t>(g)], length = end - before;
    if (length > 0) {
      const MatrixView a = transposes ? MatrixView{call.in[0], before * m, length, m, m}
                                      : MatrixView{call.in[0], before, m, length, k};
      product.terms.push_back({a, MatrixView{call.in[1], before * n, length, n, n}});
      groups.push_back(g);
    }
    before = end;
  }
  const DType dtype = dtype_of(call, 3);
  ASSAY_TRY(ComputedTensor out, ComputedTensor::make(dtype, shape_of(call, 3), call.memory));
  for (int64_t i = 0; i < sum.count(); ++i) out.set(i, sum.values[static_cast<size_t>(i)], 0);
  const double unit = unit_of_arithmetic(dtype_of(call, 0));
  const auto take = [&](const ProductRun& part) {
    const auto term = static_cast<size_t>(part.term);
    const int64_t first = (groups[term] * m + part.row) * n + part.column;
    const int64_t length = product.length(product.terms[term]);
    for (int64_t j = 0; j < part.count; ++j) {
      const double value = sum.values[static_cast<size_t>(first + j)] + part.sums[j];
      out.set(first + j, value, product_error(unit, length, part.norms[j]) + 2 * unit * std::abs(value));
    }
  };
  ASSAY_TRY_DO(compute_products(product, call.memory, take));
  return GoldenOutputs{out.take()};
}

// in: x, weights [experts, k, n], ends of the rows of each expert, token of each row, [scales of columns, of
// rows]
Result<GoldenOutputs> golden_grouped_matmul_with_routing(const GoldenCall& call) {
  ASSAY_TRY_DO(check_given(call, 4, 6));
  ASSAY_TRY_DO(check_rank(call, 0, 2));
  ASSAY_TRY_DO(check_rank(call, 1, 3));
  ASSAY_TRY(const bool transposes, call.params.flag_or({"transposeB"}, false));
  ASSAY_TRY(const int64_t acl, call.params.integer_or({"outDataType"}, -1));
  ASSAY_TRY(const std::optional<DType> wanted, dtype_of_acl(acl, "outDataType"));
  const bool is_whole = dtype_of(call, 0) == DType::i8;
  ASSAY_TRY_DO(check_given(call, is_whole ? 6 : 4, is_whole ? 6 : 4));
  if (is_whole && !wanted)
    return fail(ErrorKind::bad_argument, "outDataType does not say what int8 is scaled to");
  const std::vector<int64_t>& weight = shape_of(call, 1).dims;
  const int64_t experts = weight[0], k = weight[transposes ? 2 : 1], n = weight[transposes ? 1 : 2];
  if (shape_of(call, 0).dims[1] != k)
    return fail(ErrorKind::mismatch, "rows of {} do not multiply weights of {}", shape_of(call, 0).text(),
                shape_of(call, 1).text());
  ASSAY_TRY(const Routing routing, routing_of(call, n));
  ASSAY_TRY(const Integers ends, group_ends(call, 2, routing.rows));
  if (ends.count() != experts)
    return fail(ErrorKind::mismatch, "{} groups of rows for {} experts", ends.count(), experts);
  RoutedScales scales;
  if (is_whole) {
    ASSAY_TRY(scales, routed_scales(call, experts, n));
  }
  ASSAY_TRY(const OperandPtr rows, routed_rows(call, routing));
  Product product;
  product.transpose_b = transposes;
  product.accumulator = accumulator_of(dtype_of(call, 0), dtype_of(call, 1));
  std::vector<std::pair<int64_t, int64_t>> places;  // of each term: its expert, its first row
  int64_t before = 0;
  for (int64_t e = 0; e < experts; ++e) {
    const int64_t end = ends.values[static_cast<size_t>(e)];
    if (end > before) {
      product.terms.push_back({MatrixView{rows, before * k, end - before, k, k}, matrix_of(call.in[1], e)});
      places.emplace_back(e, before);
    }
    before = end;
  }
  const auto count = checked_multiply(routing.rows, n);
  if (!count || *count > call.memory / static_cast<int64_t>(2 * sizeof(double)))
    return fail(ErrorKind::limit, "{} rows of {} need more than the {} MiB that --memory allows",
                routing.rows, n, call.memory >> 20);
  std::vector<double> values(static_cast<size_t>(*count)), errors(static_cast<size_t>(*count));
  const double unit = unit_of_arithmetic(is_whole ? DType::f32 : dtype_of(call, 0));
  ASSAY_TRY_DO(compute_products(product, call.memory, [&](const ProductRun& part) {
    const auto [expert, first] = places[static_cast<size_t>(part.term)];
    const int64_t row = first + part.row;
    for (int64_t j = 0; j < part.count; ++j) {
      const auto at = static_cast<size_t>(row * n + part.column + j);
      values[at] = part.sums[j];
      errors[at] = product_error(unit, k, part.norms[j]);
      if (!is_whole) continue;
      const int64_t token = routing.adds ? row : routing.tokens.values[static_cast<size_t>(row)];
      values[at] *= scales.columns.values[static_cast<size_t>(expert * n + part.column + j)] *
                    scales.rows.values[static_cast<size_t>(token)];
      errors[at] = 4 * unit * std::abs(values[at]);
    }
  }));
  const DType dtype = wanted.value_or(dtype_of(call, 0));
  ASSAY_TRY(ComputedTensor out, ComputedTensor::make(dtype, Shape{{routing.outputs, n}}, call.memory));
  if (!routing.adds) {
    for (size_t i = 0; i < values.size(); ++i) out.set(static_cast<int64_t>(i), values[i], errors[i]);
    return GoldenOutputs{out.take()};
  }
  // Experts may add to the output itself: each partial sum but the last is rounded to its type, or to f32.
  std::vector<double> sizes(static_cast<size_t>(routing.outputs * n));
  for (int64_t i = 0; i < routing.outputs * n; ++i) out.set(i, 0, 0);
  for (int64_t row = 0; row < routing.rows; ++row)
    for (int64_t j = 0; j < n; ++j) {
      const int64_t to = routing.tokens.values[static_cast<size_t>(row)] * n + j;
      const auto from = static_cast<size_t>(row * n + j);
      double& size = sizes[static_cast<size_t>(to)];
      const double rounding = error_of_rounding(dtype, size);
      size += std::abs(values[from]);
      out.set(to, out.value(to) + values[from], out.allowed(to) + errors[from] + rounding);
    }
  return GoldenOutputs{out.take()};
}

}  // namespace assay

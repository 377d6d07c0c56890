#include "assay/base/checked.h"
#include "assay/golden/matrices.h"
#include "assay/golden/numbers.h"
#include "assay/golden/products.h"
#include "assay/tensor/dense.h"

#include <algorithm>

namespace assay {
namespace {

constexpr int64_t kMostProducts = int64_t{1} << 22;

// Per batch: extents, distances between rows, distances between heads.
struct Batches {
  std::vector<int64_t> m, n, k, row_a, row_b, row_c, head_a, head_b, head_c;
};

Result<Batches> read_batches(const GoldenParams& params, int64_t count) {
  Batches out;
  const auto read = [&](std::vector<int64_t>& list, ParamKeys keys) -> Result<void> {
    ASSAY_TRY(list, params.integers(keys));
    if (std::ssize(list) != count)
      return fail(ErrorKind::bad_argument, "{} has {} numbers, batch is {}", *keys.begin(), list.size(),
                  count);
    for (const int64_t each : list)
      if (each < 0) return fail(ErrorKind::bad_argument, "{} is negative", *keys.begin());
    return {};
  };
  ASSAY_TRY_DO(read(out.m, {"m"}));
  ASSAY_TRY_DO(read(out.n, {"n"}));
  ASSAY_TRY_DO(read(out.k, {"k"}));
  ASSAY_TRY_DO(read(out.row_a, {"lda"}));
  ASSAY_TRY_DO(read(out.row_b, {"ldb"}));
  ASSAY_TRY_DO(read(out.row_c, {"ldc"}));
  ASSAY_TRY_DO(read(out.head_a, {"strideA"}));
  ASSAY_TRY_DO(read(out.head_b, {"strideB"}));
  ASSAY_TRY_DO(read(out.head_c, {"strideC"}));
  return out;
}

// base + the elements of one batch.
Result<int64_t> next_base(int64_t base, int64_t rows, int64_t columns, int64_t heads) {
  const int64_t extents[] = {rows, columns, heads};
  const auto elements = checked_product(extents);
  const auto next = elements ? checked_add(base, *elements) : std::nullopt;
  if (!next) return fail(ErrorKind::mismatch, "the batches are too large");
  return *next;
}

}  // namespace

Result<GoldenOutputs> golden_strided_batch_matmul(const GoldenCall& call) {
  ASSAY_TRY_DO(check_inputs(call, 2, 2));
  const GoldenParams& params = call.params;
  ASSAY_TRY(const bool transpose_a, params.flag_or({"transposeA", "trans_a"}, false));
  ASSAY_TRY(const bool transpose_b, params.flag_or({"transposeB", "trans_b"}, false));
  ASSAY_TRY(const int64_t heads, params.integer({"headNum", "head_num"}));
  ASSAY_TRY(const int64_t batch, params.integer({"batch"}));
  const auto products = heads > 0 && batch >= 0 ? checked_multiply(heads, batch) : std::nullopt;
  if (!products || *products > kMostProducts)
    return fail(ErrorKind::bad_argument, "batch {} with headNum {}", batch, heads);
  if (!is_real(dtype_of(call, 0)) || !is_real(dtype_of(call, 1)))
    return fail(ErrorKind::mismatch, "{} of {} and {}", call.type, name(dtype_of(call, 0)),
                name(dtype_of(call, 1)));
  ASSAY_TRY(const Batches b, read_batches(params, batch));

  Product product;
  product.transpose_a = transpose_a;
  product.transpose_b = transpose_b;
  product.accumulator = accumulator_of(dtype_of(call, 0), dtype_of(call, 1));
  std::vector<MatrixView> places;  // of the products in the output
  int64_t base_a = 0, base_b = 0, base_c = 0;
  for (size_t i = 0; i < b.m.size(); ++i) {
    for (int64_t head = 0; head < heads; ++head) {
      const auto place = [&](int64_t base, const std::vector<int64_t>& stride) {
        const auto offset = checked_multiply(stride[i], head);
        return offset ? checked_add(base, *offset) : std::nullopt;
      };
      const auto a = place(base_a, b.head_a), of_b = place(base_b, b.head_b), c = place(base_c, b.head_c);
      if (!a || !of_b || !c) return fail(ErrorKind::mismatch, "the batches are too large");
      product.terms.push_back(
          {{call.in[0], *a, transpose_a ? b.k[i] : b.m[i], transpose_a ? b.m[i] : b.k[i], b.row_a[i]},
           {call.in[1], *of_b, transpose_b ? b.n[i] : b.k[i], transpose_b ? b.k[i] : b.n[i], b.row_b[i]}});
      places.push_back({nullptr, *c, b.m[i], b.n[i], b.row_c[i]});
    }
    ASSAY_TRY(base_a, next_base(base_a, b.m[i], b.k[i], heads));
    ASSAY_TRY(base_b, next_base(base_b, b.n[i], b.k[i], heads));
    ASSAY_TRY(base_c, next_base(base_c, b.m[i], b.n[i], heads));
  }
  Shape shape = call.out.empty() ? Shape{{base_c}} : call.out[0].shape;
  ASSAY_TRY(ComputedTensor out, ComputedTensor::make(DType::f16, shape, call.memory));
  std::vector<std::byte> known(static_cast<size_t>(shape.count()), std::byte{0});
  for (const MatrixView& each : places) {
    ASSAY_TRY_DO(each.check_within(shape.count()));
    for (int64_t row = 0; row < each.rows; ++row) {
      const auto from = known.begin() + each.first + row * each.stride;
      if (std::any_of(from, from + each.columns, [](std::byte is) { return is != std::byte{0}; }))
        return fail(ErrorKind::bad_argument, "two products are written to the same place");
      std::fill(from, from + each.columns, std::byte{1});
    }
  }
  const double unit = unit_of_arithmetic(dtype_of(call, 0));
  ASSAY_TRY_DO(compute_products(product, call.memory, [&](const ProductRun& part) {
    const MatrixView& place = places[static_cast<size_t>(part.term)];
    const int64_t length = b.k[static_cast<size_t>(part.term / heads)];
    for (int64_t j = 0; j < part.count; ++j)
      out.set(place.first + part.row * place.stride + part.column + j, part.sums[j],
              product_error(unit, length, part.norms[j]));
  }));
  Expected expected = out.take();
  if (std::ranges::find(known, std::byte{0}) != known.end()) {
    expected.known = dense_in_memory(std::move(known), TensorMeta{DType::u8, shape});
    expected.note = "elements between the products are not written";
  }
  GoldenOutputs outputs;
  outputs.push_back(std::move(expected));
  return outputs;
}

}  // namespace assay

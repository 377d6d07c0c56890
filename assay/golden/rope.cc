// Rotary positions. Bounds: docs/operators.md, "RopeOperation".
#include "assay/base/checked.h"
#include "assay/golden/bounded.h"
#include "assay/golden/families.h"
#include "assay/golden/streamed.h"

#include <algorithm>
#include <cmath>

namespace assay {
namespace {

// How the elements of a head turn: in blocks of `block` elements, the first half of a block against the
// second. Blocks of two are pairs, which turn by the angle of their even element.
struct Rotation {
  int64_t head = 0, block = 0;
};

Result<Rotation> rotation_of(const GoldenCall& call, int64_t head) {
  ASSAY_TRY(const int64_t coefficient, call.params.integer({"rotaryCoeff"}));
  if (coefficient != 2 && coefficient != 4 && coefficient != 64 && coefficient != head)
    return fail(ErrorKind::bad_argument, "the parameter rotaryCoeff is {}, which is none of 2, 4, 64, {}",
                coefficient, head);
  const int64_t block = coefficient == 2 ? head : coefficient == 4 ? head / 2 : 2;
  if (head == 0 || block == 0 || block % 2 != 0 || head % block != 0)
    return fail(ErrorKind::mismatch, "a head of {} elements does not turn by rotaryCoeff {}", head,
                coefficient);
  return Rotation{head, block};
}

// The tables of cos and sin, and which row of them each token takes.
struct Angles {
  Numbers cos, sin;
  std::vector<int64_t> row_of_token;  // empty: the one of its number

  int64_t rows() const { return cos.shape.dims[0]; }
  int64_t width() const { return cos.shape.dims[1]; }
  int64_t row(int64_t token) const {
    return row_of_token.empty() ? token : row_of_token[static_cast<size_t>(token)];
  }
};

Result<Angles> angles_of(const GoldenCall& call) {
  ASSAY_TRY_DO(check_real(call, 2));
  if (shape_of(call, 2).dims.size() != 2 || shape_of(call, 2) != shape_of(call, 3) ||
      dtype_of(call, 2) != dtype_of(call, 3))
    return fail(ErrorKind::mismatch, "cos and sin have shapes {} and {}, which must be two equal dimensions",
                shape_of(call, 2).text(), shape_of(call, 3).text());
  Angles angles;
  ASSAY_TRY(angles.cos, numbers_of(call, 2));
  ASSAY_TRY(angles.sin, numbers_of(call, 3));
  return angles;
}

// Each sample starts at the first row again.
Result<std::vector<int64_t>> rows_by_sample(const std::vector<int64_t>& lengths, int64_t rows) {
  std::vector<int64_t> row_of_token;
  for (const int64_t length : lengths) {
    if (length < 0 || length > rows)
      return fail(ErrorKind::mismatch, "a sample of {} tokens, where cos has {} rows", length, rows);
    for (int64_t row = 0; row < length; ++row) row_of_token.push_back(row);
  }
  return row_of_token;
}

// A tensor of tokens, whichever of its dimensions count them.
Result<int64_t> tokens_of(const Shape& shape, int64_t rank_of_tokens) {
  if (std::ssize(shape.dims) <= rank_of_tokens)
    return fail(ErrorKind::mismatch, "shape {} has no tokens and heads", shape.text());
  int64_t tokens = 1;
  for (int64_t d = 0; d < rank_of_tokens; ++d) tokens *= shape.dims[static_cast<size_t>(d)];
  return tokens;
}

Result<int64_t> width_of_tokens(const Shape& x, int64_t tokens, int64_t head) {
  const int64_t width = tokens == 0 ? 0 : x.count() / tokens;
  if (width % head != 0)
    return fail(ErrorKind::mismatch, "the {} elements of a token are not whole heads of {}", width, head);
  return width;
}

// x · cos + turned(x) · sin. Products are rounded to the type of the tensor where the tables are of that
// type; kernels that keep f32 differ by that rounding.
Result<Expected> turned_tensor(const GoldenCall& call, size_t i, int64_t tokens,
                               std::shared_ptr<const Angles> angles, const Rotation& rotation) {
  ASSAY_TRY(const int64_t width, width_of_tokens(shape_of(call, i), tokens, rotation.head));
  // Tables of f32 for tensors of 16 bits mean that all of it is computed in f32.
  const DType rounds_to = dtype_of(call, 2) == dtype_of(call, i) ? dtype_of(call, i) : DType::f32;
  const bool rounds = rounds_to != DType::f32 && rounds_to != DType::f64;
  const double unit = 1.0625 * unit_roundoff(rounds_to);
  // Products below the normal numbers of f16 are rounded by half of its smallest step, however small they
  // are.
  const double least = rounds_to == DType::f16 ? 0x1p-25 : 0;
  const auto turn_token = [=](int64_t first, int64_t count, const double* const* in, double* values,
                              double* errors) {
    const int64_t row = angles->row(first / width) * rotation.head;
    for (int64_t at = 0; at < count; at += rotation.head)
      kernel::turn_head(in[0] + at, angles->cos.values.data() + row, angles->sin.values.data() + row,
                        rotation.head, rotation.block, {values + at, errors + at});
    if (rounds) {
      round_to(rounds_to, {values, static_cast<size_t>(count)});
      round_to(rounds_to, {errors, static_cast<size_t>(count)});
    }
    kernel::add_turned(unit, least, count, {values, errors});
  };
  return streamed(call, {call.in[i]}, std::max<int64_t>(1, width), 10, turn_token);
}

// q and k as [tokens, …] or [batch, tokens, heads, head].
Result<int64_t> tokens_of_query(const GoldenCall& call, const Angles& angles) {
  const Shape& shape = shape_of(call, 0);
  const bool is_deep = shape.dims.size() == 4 || (shape.dims.size() == 3 && shape.dims[0] != angles.rows() &&
                                                  shape.dims[2] != angles.width());
  return tokens_of(shape, is_deep ? 2 : 1);
}

Result<GoldenOutputs> rope(const GoldenCall& call) {
  constexpr int64_t kFormats[] = {0, 1};
  ASSAY_TRY(const int64_t format, call.params.choice_or({"cosFormat"}, 0, kFormats));
  ASSAY_TRY_DO(check_inputs(call, format == 0 ? 4 : 5, 5));
  ASSAY_TRY_DO(check_real(call, 0));
  ASSAY_TRY_DO(check_same_type(call, 1));
  ASSAY_TRY(Angles angles, angles_of(call));
  ASSAY_TRY(const Rotation rotation, rotation_of(call, angles.width()));
  ASSAY_TRY(const int64_t tokens, tokens_of_query(call, angles));
  if (format == 1) {
    ASSAY_TRY(const Integers lengths, integers_of(call, 4));
    ASSAY_TRY(angles.row_of_token, rows_by_sample(lengths.values, angles.rows()));
  }
  const int64_t angled = format == 1 ? std::ssize(angles.row_of_token) : angles.rows();
  if (format == 1 ? angled != tokens : angled < tokens)
    return fail(ErrorKind::mismatch, "there are {} tokens, and angles for {}", tokens, angled);
  if (const int64_t count = shape_of(call, 1).count(); tokens == 0 ? count != 0 : count % tokens != 0)
    return fail(ErrorKind::mismatch, "q and k of shapes {} and {} differ in their tokens",
                shape_of(call, 0).text(), shape_of(call, 1).text());
  const auto shared = std::make_shared<const Angles>(std::move(angles));
  GoldenOutputs outs;
  for (const size_t i : {0, 1}) {
    ASSAY_TRY(Expected out, turned_tensor(call, i, tokens, shared, rotation));
    outs.push_back(std::move(out));
  }
  return outs;
}

// ----- the gradient, as ATB defines it: d · (cos + (sin of the second half, -sin of the first))

Result<Expected> rope_gradient(const GoldenCall& call, size_t i, const Angles& angles) {
  ASSAY_TRY(const Numbers d, numbers_of(call, i));
  const int64_t head = angles.width(), tokens = std::ssize(angles.row_of_token);
  if (d.shape.dims.size() != 2 || d.shape.dims[0] != tokens)
    return fail(ErrorKind::mismatch, "the gradient has shape {}, the samples {} tokens", d.shape.text(),
                tokens);
  ASSAY_TRY(const int64_t width, width_of_tokens(d.shape, tokens, head));
  ASSAY_TRY(BoundedNumbers out, zeros_with_bounds(d.shape));
  const DType dtype = dtype_of(call, i);
  const double u = unit_roundoff(dtype);
  in_parallel(tokens, 6 * width, [&](int64_t begin, int64_t end) {
    std::vector<double> factors(static_cast<size_t>(head)), errors(factors.size());
    for (int64_t token = begin; token < end; ++token) {
      const int64_t row = angles.row(token) * head;
      for (int64_t c = 0; c < head; ++c) {
        const double cos = angles.cos.values[static_cast<size_t>(row + c)];
        const double sin = angles.sin.values[static_cast<size_t>(row + (c + head / 2) % head)];
        factors[static_cast<size_t>(c)] = c < head / 2 ? cos + sin : cos - sin;
        errors[static_cast<size_t>(c)] = u * std::abs(factors[static_cast<size_t>(c)]);
      }
      round_to(dtype, factors);
      for (int64_t at = token * width; at < (token + 1) * width; ++at) {
        const auto c = static_cast<size_t>((at - token * width) % head);
        const double g = d.values[static_cast<size_t>(at)], value = g * factors[c];
        put(out, at, {value, 1.0625 * std::abs(g) * errors[c] + unit_of_arithmetic(dtype) * std::abs(value)});
      }
    }
  });
  return expected(dtype, std::move(out));
}

Result<GoldenOutputs> rope_grad(const GoldenCall& call) {
  ASSAY_TRY_DO(check_inputs(call, 4, 4));
  ASSAY_TRY(const std::vector<int64_t> lengths, call.params.integers({"c_qSeqLen", "qSeqLen"}));
  ASSAY_TRY_DO(check_real(call, 0));
  for (const size_t i : {1, 2, 3}) ASSAY_TRY_DO(check_same_type(call, i));
  ASSAY_TRY(Angles angles, angles_of(call));
  if (angles.width() == 0 || angles.width() % 2 != 0)
    return fail(ErrorKind::mismatch, "cos has rows of {} elements, which have no halves", angles.width());
  // Before a list of lengths is believed: all of them together are the tokens.
  int64_t tokens = 0;
  for (const int64_t length : lengths) {
    const auto sum = checked_add(tokens, length);
    if (length < 0 || !sum) return fail(ErrorKind::bad_argument, "the parameter c_qSeqLen has no sum");
    tokens = *sum;
  }
  if (shape_of(call, 0).dims.empty() || shape_of(call, 0).dims[0] != tokens)
    return fail(ErrorKind::mismatch, "the gradient has shape {}, the samples {} tokens",
                shape_of(call, 0).text(), tokens);
  ASSAY_TRY(angles.row_of_token, rows_by_sample(lengths, angles.rows()));
  GoldenOutputs outs;
  for (const size_t i : {0, 1}) {
    ASSAY_TRY(Expected out, rope_gradient(call, i, angles));
    outs.push_back(std::move(out));
  }
  return outs;
}

constexpr GoldenOp kRopes[] = {
    {"RopeOperation", rope, "rotary positions of queries and keys: by halves, by quarters, by pairs"},
    {"RopeGradOperation", rope_grad, "gradients of queries and keys through their rotary positions"},
};

}  // namespace

GoldenFamily golden_ropes() { return kRopes; }

}  // namespace assay

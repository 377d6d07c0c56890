#include "assay/golden/streamed.h"

#include "assay/base/checked.h"
#include "assay/golden/matrices.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <memory>

namespace assay {
namespace {

bool is_short(DType dtype) { return dtype == DType::f16 || dtype == DType::bf16; }

// Types of 16 bits: values in f32, which holds them a thousand times finer. All others in f64.
void keep(DType dtype, const double* values, const double* errors, int64_t count, std::byte* to,
          float* allowed) {
  if (is_short(dtype)) {
    kernel::keep_short(values, errors, count, reinterpret_cast<float*>(to), allowed);
    return;
  }
  std::memcpy(to, values, static_cast<size_t>(count) * sizeof(double));
  // f64 is not rounded once more, and our own arithmetic is no better than that of the operator.
  const bool is_wide = dtype == DType::f64;
  kernel::keep_allowed(values, errors, count, is_wide ? 4 : 1, is_wide ? 8 * unit_roundoff(DType::f64) : 0,
                       allowed);
}

DType type_of_values(DType dtype) { return is_short(dtype) ? DType::f32 : DType::f64; }

// An output that several threads write, each its own places.
class Sheet {
 public:
  // An error where more than `memory` bytes would be held.
  static Result<Sheet> of(DType dtype, const Shape& shape, int64_t memory) {
    ASSAY_TRY(const int64_t count, count_of(shape));
    const int64_t size = size_of(type_of_values(dtype));
    const auto bytes = checked_multiply(count, size + int64_t{sizeof(float)});
    if (!bytes || *bytes > memory)
      return fail(ErrorKind::limit, "an output of shape {} needs more than the {} MiB that --memory allows",
                  shape.text(), memory >> 20);
    return Sheet(dtype, shape, fresh_bytes(count * size), fresh_bytes(count * int64_t{sizeof(float)}));
  }

  // Elements from `first` on, and how far each may be off.
  void put(int64_t first, int64_t count, const double* values, const double* errors) {
    keep(dtype_, values, errors, count, values_.get() + first * size_of(type_of_values(dtype_)),
         reinterpret_cast<float*>(allowed_.get()) + first);
  }

  Expected finish() && {
    Expected out;
    out.dtype = dtype_;
    out.value = held({type_of_values(dtype_), shape_}, std::move(values_));
    out.allowed = held({DType::f32, shape_}, std::move(allowed_));
    return out;
  }

 private:
  Sheet(DType dtype, Shape shape, std::shared_ptr<std::byte[]> values, std::shared_ptr<std::byte[]> allowed)
      : dtype_(dtype), shape_(std::move(shape)), values_(std::move(values)), allowed_(std::move(allowed)) {}

  DType dtype_;
  Shape shape_;
  std::shared_ptr<std::byte[]> values_, allowed_;
};

Result<void> check_piece(int64_t elements, int64_t memory) {
  constexpr int64_t kBytesOfElement = 64;  // in f64, for as many threads as pieces of such a size are worth
  if (elements <= memory / kBytesOfElement) return {};
  return fail(ErrorKind::limit,
              "{} elements that belong together need more than the {} MiB that --memory allows", elements,
              memory >> 20);
}

// What a piece is computed from.
struct Recipe {
  std::vector<OperandPtr> inputs;
  Pieces pieces;
  ComputePiece compute;
  ComputeShort of_short;
  DType dtype = DType::f32;
  int64_t count = 0;     // of the output
  int64_t elements = 0;  // of an input

  int64_t room() const {  // in doubles: the pieces of the inputs, values and errors
    return std::ssize(inputs) * pieces.of_input + 2 * pieces.piece;
  }
};

struct Piece {
  int64_t first = 0, count = 0;
  const double* values = nullptr;
  const double* errors = nullptr;
};

constexpr size_t kMostInputs = 4;

// The elements of each input that belong to a piece, one after another in `room`, as numbers of its kind.
// They are read with what lies below `scratch`, beginning with the second.
template <class T, class Widen>
Result<void> read_inputs(const Recipe& recipe, int64_t number, T* room, Scratch& scratch, Widen widen) {
  const int64_t of_input = recipe.pieces.of_input, from = number * of_input;
  const int64_t some = std::min(of_input, recipe.elements - from);
  for (size_t i = 0; i < recipe.inputs.size(); ++i)
    for (int64_t done = 0; done < some; done += kBlockElements) {
      const int64_t next = std::min(kBlockElements, some - done);
      ASSAY_TRY(const Block block, recipe.inputs[i]->block(from + done, next, scratch.below(i + 1)));
      widen(block.dtype, block.data, next, room + static_cast<int64_t>(i) * of_input + done);
    }
  return {};
}

Result<Piece> compute_piece(const Recipe& recipe, int64_t number, double* room, Scratch& scratch) {
  const Pieces& pieces = recipe.pieces;
  ASSAY_TRY_DO(read_inputs(recipe, number, room, scratch, to_f64));
  const double* in[kMostInputs] = {};
  for (size_t i = 0; i < recipe.inputs.size(); ++i) in[i] = room + static_cast<int64_t>(i) * pieces.of_input;
  double* const values = room + std::ssize(recipe.inputs) * pieces.of_input;
  double* const errors = values + pieces.piece;
  const int64_t first = number * pieces.piece, count = std::min(pieces.piece, recipe.count - first);
  recipe.compute(first, count, in, values, errors);
  return Piece{first, count, values, errors};
}

class StreamedBlocks final : public BoundedBlocks {
 public:
  explicit StreamedBlocks(Recipe recipe) : BoundedBlocks(recipe.pieces.piece), recipe_(std::move(recipe)) {}

  Result<Both> read(int64_t first, int64_t count, Scratch& scratch) const override {
    const int64_t size = size_of(value_type());
    std::byte* const values = scratch.buffer(count * (size + static_cast<int64_t>(sizeof(float))));
    auto* const allowed = reinterpret_cast<float*>(values + count * size);
    auto* const room = reinterpret_cast<double*>(
        scratch.below(0).buffer(recipe_.room() * static_cast<int64_t>(sizeof(double))));
    if (recipe_.of_short) {
      ASSAY_TRY_DO(read_short(first, count, reinterpret_cast<float*>(room), scratch,
                              {reinterpret_cast<float*>(values), allowed}));
      return both(values, allowed, count);
    }
    for (int64_t at = first; at < first + count;) {
      ASSAY_TRY(const Piece piece, compute_piece(recipe_, at / granule, room, scratch));
      const int64_t skipped = at - piece.first;
      const int64_t some = std::min(piece.count - skipped, first + count - at);
      keep(recipe_.dtype, piece.values + skipped, piece.errors + skipped, some, values + (at - first) * size,
           allowed + (at - first));
      at += some;
    }
    return both(values, allowed, count);
  }

  DType value_type() const { return type_of_values(recipe_.dtype); }
  const Shape& shape() const { return recipe_.pieces.shape; }

 private:
  Both both(const std::byte* values, const float* allowed, int64_t count) const {
    return Both{Block{value_type(), values, count},
                Block{DType::f32, reinterpret_cast<const std::byte*>(allowed), count}};
  }

  Result<void> read_short(int64_t first, int64_t count, float* room, Scratch& scratch,
                          kernel::ShortOut out) const {
    const Pieces& pieces = recipe_.pieces;
    const float* in[kMostInputs] = {};
    for (size_t i = 0; i < recipe_.inputs.size(); ++i)
      in[i] = room + static_cast<int64_t>(i) * pieces.of_input;
    float* const values = room + std::ssize(recipe_.inputs) * pieces.of_input;
    for (int64_t at = first; at < first + count;) {
      const int64_t number = at / granule, begin = number * pieces.piece, skipped = at - begin;
      const int64_t all = std::min(pieces.piece, recipe_.count - begin);
      const int64_t some = std::min(all - skipped, first + count - at);
      ASSAY_TRY_DO(read_inputs(recipe_, number, room, scratch, to_f32));
      const kernel::ShortOut here{out.values + (at - first), out.allowed + (at - first)};
      if (some == all) {
        recipe_.of_short(begin, all, in, here);
      } else {
        recipe_.of_short(begin, all, in, {values, values + pieces.piece});
        std::copy_n(values + skipped, some, here.values);
        std::copy_n(values + pieces.piece + skipped, some, here.allowed);
      }
      at += some;
    }
    return {};
  }

  const Recipe recipe_;
};

// One of the two.
class StreamedPart final : public Operand {
 public:
  StreamedPart(std::shared_ptr<const StreamedBlocks> blocks, bool is_allowed)
      : Operand({is_allowed ? DType::f32 : blocks->value_type(), blocks->shape()}),
        blocks_(std::move(blocks)),
        is_allowed_(is_allowed) {}

  Result<Block> block(int64_t first, int64_t count, Scratch& scratch) const override {
    ASSAY_TRY(const BoundedBlocks::Both both, blocks_->read(first, count, scratch));
    return is_allowed_ ? both.allowed : both.value;
  }

 private:
  const std::shared_ptr<const StreamedBlocks> blocks_;
  const bool is_allowed_;
};

Expected computed_when_read(Recipe recipe) {
  Expected out;
  out.dtype = recipe.dtype;
  const auto blocks = std::make_shared<const StreamedBlocks>(std::move(recipe));
  out.value = std::make_shared<StreamedPart>(blocks, false);
  out.allowed = std::make_shared<StreamedPart>(blocks, true);
  out.together = blocks;
  return out;
}

class MappedElements final : public Operand {
 public:
  MappedElements(OperandPtr source, DType dtype, void (*f)(double*, int64_t))
      : Operand({dtype, source->meta.shape}), source_(std::move(source)), f_(f) {}

  Result<Block> block(int64_t first, int64_t count, Scratch& scratch) const override {
    std::byte* const out = scratch.buffer(count * size_of(meta.dtype));
    double wide[kPieceElements];
    ASSAY_TRY(const Block block, source_->block(first, count, scratch.below(0)));
    for (int64_t at = 0; at < count; at += kPieceElements) {
      const int64_t some = std::min(kPieceElements, count - at);
      to_f64(block.dtype, block.data + at * size_of(block.dtype), some, wide);
      f_(wide, some);
      from_f64(meta.dtype, wide, some, out + at * size_of(meta.dtype));
    }
    return Block{meta.dtype, out, count};
  }

 private:
  const OperandPtr source_;
  void (*f_)(double*, int64_t);
};

Result<Expected> computed_now(const GoldenCall& call, const Recipe& recipe, int64_t cost) {
  ASSAY_TRY(Sheet sheet, Sheet::of(recipe.dtype, recipe.pieces.shape, call.memory));
  const int64_t piece = recipe.pieces.piece;
  ASSAY_TRY_DO(try_in_parallel(
      (recipe.count + piece - 1) / piece, cost * piece, [&](int64_t begin, int64_t end) -> Result<void> {
        std::vector<double> room(static_cast<size_t>(recipe.room()));
        Scratch scratch;
        for (int64_t i = begin; i < end; ++i) {
          ASSAY_TRY(const Piece made, compute_piece(recipe, i, room.data(), scratch));
          sheet.put(made.first, made.count, made.values, made.errors);
        }
        return {};
      }));
  return std::move(sheet).finish();
}

}  // namespace

Result<Expected> streamed(const GoldenCall& call, std::vector<OperandPtr> inputs, const Pieces& pieces,
                          int64_t cost, ComputePiece compute, ComputeShort of_short) {
  // A block that ends inside of a piece computes the whole of it.
  constexpr int64_t kLargestWhenRead = kBlockElements / 4;
  ASSAY_TRY_DO(check_piece(pieces.of_input, call.memory));
  ASSAY_TRY(const int64_t count, count_of(pieces.shape));
  const TensorMeta meta = inputs[0]->meta;
  if (!is_short(meta.dtype)) of_short = {};
  Recipe recipe{std::move(inputs), pieces, std::move(compute), std::move(of_short),
                meta.dtype,        count,  meta.shape.count()};
  if (pieces.piece <= kLargestWhenRead) return computed_when_read(std::move(recipe));
  return computed_now(call, recipe, cost);
}

Result<Expected> streamed(const GoldenCall& call, std::vector<OperandPtr> inputs, int64_t piece, int64_t cost,
                          ComputePiece compute, ComputeShort of_short) {
  const Pieces pieces{inputs[0]->meta.shape, piece, piece};
  return streamed(call, std::move(inputs), pieces, cost, std::move(compute), std::move(of_short));
}

Result<GoldenOutputs> streamed_function(
    const GoldenCall& call, int64_t cost, std::function<Approx(double, double)> exact,
    std::function<void(const double*, int64_t, double, kernel::Out)> by_vectors,
    std::function<void(const float*, int64_t, kernel::ShortOut)> of_short) {
  const DType dtype = dtype_of(call, 0);
  const double u = unit_of_arithmetic(dtype);
  ComputePiece compute;
  if (dtype == DType::f64)
    compute = [u, exact = std::move(exact)](int64_t, int64_t count, const double* const* in, double* values,
                                            double* errors) {
      for (int64_t i = 0; i < count; ++i) {
        const Approx y = exact(in[0][i], u);
        values[i] = y.value;
        errors[i] = y.error;
      }
    };
  else
    compute = [unit = u * kernel::kOwnErrorInUnits, by_vectors = std::move(by_vectors)](
                  int64_t, int64_t count, const double* const* in, double* values, double* errors) {
      by_vectors(in[0], count, unit, {values, errors});
    };
  ComputeShort narrow;
  if (of_short)
    narrow = [of_short = std::move(of_short)](int64_t, int64_t count, const float* const* in,
                                              kernel::ShortOut out) { of_short(in[0], count, out); };
  ASSAY_TRY(Expected out,
            streamed(call, {call.in[0]}, kPieceElements, cost, std::move(compute), std::move(narrow)));
  return GoldenOutputs{std::move(out)};
}

OperandPtr mapped_when_read(OperandPtr source, DType dtype, void (*f)(double*, int64_t)) {
  return std::make_shared<MappedElements>(std::move(source), dtype, f);
}

}  // namespace assay

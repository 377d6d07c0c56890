// Outputs computed piece by piece: inputs are read where they are needed, on all cores, and never held whole.
#pragma once

#include "assay/golden/bounded.h"

#include <memory>
#include <mutex>

namespace assay {

// An output that several threads write, each its own places.
class Sheet {
 public:
  // An error where the shape has no size, or more than `memory` bytes would be held.
  static Result<Sheet> of(DType dtype, const Shape& shape, int64_t memory);

  // Elements from `first` on, and how far each may be off.
  void put(int64_t first, int64_t count, const double* values, const double* errors);
  Expected finish() &&;

 private:
  DType dtype_ = DType::f32;
  Shape shape_;
  // Types of 16 bits: values in f32, which holds them a thousand times finer. All others in f64.
  std::unique_ptr<float[]> short_;
  std::unique_ptr<double[]> wide_;
  std::unique_ptr<float[]> allowed_;
};

// Reads elements of one tensor as f64, for one thread.
class PieceReader {
 public:
  explicit PieceReader(OperandPtr source) : source_(std::move(source)) {}
  // Valid until the next call.
  Result<const double*> read(int64_t first, int64_t count);

 private:
  OperandPtr source_;
  Scratch scratch_;
  std::vector<double> buffer_;
};

// The first thing that went wrong in any thread.
class FirstError {
 public:
  void set(Error error);
  Result<void> outcome() const;

 private:
  mutable std::mutex mutex_;
  std::optional<Error> error_;
};

constexpr int64_t kPieceElements = 4096;

// An error where the pieces that threads hold take more than `memory` bytes.
Result<void> check_piece(int64_t elements, int64_t memory);

// How an output is cut: `piece` of its elements belong to `of_input` elements of each input.
struct Pieces {
  Shape shape;
  int64_t piece = kPieceElements;
  int64_t of_input = kPieceElements;
};

// The output of an operator, piece by piece, each from the same piece of its inputs, in the type of the first
// one. `compute(first, count, in, values, errors)`; an element costs about `cost` operations.
template <class Compute>
Result<Expected> streamed(const GoldenCall& call, std::span<const OperandPtr> inputs, const Pieces& pieces,
                          int64_t cost, Compute compute) {
  ASSAY_TRY(Sheet sheet, Sheet::of(inputs[0]->meta.dtype, pieces.shape, call.memory));
  const int64_t count = pieces.shape.count(), piece = pieces.piece, of_input = pieces.of_input;
  const int64_t elements = inputs[0]->meta.shape.count();
  ASSAY_TRY_DO(check_piece(of_input, call.memory));
  FirstError first_error;
  in_parallel(count == 0 ? 0 : (count + piece - 1) / piece, cost * piece, [&](int64_t begin, int64_t end) {
    std::vector<PieceReader> readers(inputs.begin(), inputs.end());
    std::vector<const double*> in(inputs.size());
    std::vector<double> values(static_cast<size_t>(piece)), errors(values.size());
    for (int64_t p = begin; p < end; ++p) {
      for (size_t i = 0; i < in.size(); ++i) {
        Result<const double*> read =
            readers[i].read(p * of_input, std::min(of_input, elements - p * of_input));
        if (!read) return first_error.set(std::move(read.error()));
        in[i] = *read;
      }
      const int64_t first = p * piece, some = std::min(piece, count - first);
      compute(first, some, in.data(), values.data(), errors.data());
      sheet.put(first, some, values.data(), errors.data());
    }
  });
  ASSAY_TRY_DO(first_error.outcome());
  return std::move(sheet).finish();
}

// Pieces of one length, of an output that has the shape of the inputs.
template <class Compute>
Result<Expected> streamed(const GoldenCall& call, std::span<const OperandPtr> inputs, int64_t piece,
                          int64_t cost, Compute compute) {
  return streamed(call, inputs, Pieces{inputs[0]->meta.shape, piece, piece}, cost, compute);
}

// `f(x)` of each element of an input.
template <class F>
Result<GoldenOutputs> streamed_each(const GoldenCall& call, int64_t cost, F f) {
  ASSAY_TRY(Expected out,
            streamed(call, std::span(call.in).first(1), kPieceElements, cost,
                     [&](int64_t, int64_t count, const double* const* in, double* values, double* errors) {
                       for (int64_t i = 0; i < count; ++i) {
                         const Approx y = f(in[0][i]);
                         values[i] = y.value;
                         errors[i] = y.error;
                       }
                     }));
  return GoldenOutputs{std::move(out)};
}

}  // namespace assay

// Outputs computed piece by piece: inputs are read where they are needed, on all cores, and never held whole.
#pragma once

#include "assay/golden/bounded.h"
#include "assay/golden/kernels.h"
#include "assay/golden/short_kernels.h"

#include <functional>
#include <vector>

namespace assay {

constexpr int64_t kPieceElements = 4096;

// How an output is cut: `piece` of its elements belong to `of_input` elements of each input.
struct Pieces {
  Shape shape;
  int64_t piece = kPieceElements;
  int64_t of_input = kPieceElements;
};

// One piece: `count` elements from `first` on, of the elements of each input that belong to them. Any thread.
using ComputePiece = std::function<void(int64_t first, int64_t count, const double* const* in, double* values,
                                        double* errors)>;

// The same of tensors of 16 bits, of which f32 is enough.
using ComputeShort =
    std::function<void(int64_t first, int64_t count, const float* const* in, kernel::ShortOut out)>;

// The output of an operator, in the type of the first input, piece by piece. Small pieces are computed when
// they are read, and never held; large ones now, on all cores. An element costs about `cost` operations.
// `of_short` (none: `compute`) makes small pieces of tensors of 16 bits.
Result<Expected> streamed(const GoldenCall& call, std::vector<OperandPtr> inputs, const Pieces& pieces,
                          int64_t cost, ComputePiece compute, ComputeShort of_short = {});
// Pieces of one length, of an output that has the shape of the inputs.
Result<Expected> streamed(const GoldenCall& call, std::vector<OperandPtr> inputs, int64_t piece, int64_t cost,
                          ComputePiece compute, ComputeShort of_short = {});
// A function of each element of an input: vectors have it for types of up to 32 bits, f64 is computed one by
// one. Both take the unit of the arithmetic.
Result<GoldenOutputs> streamed_function(
    const GoldenCall& call, int64_t cost, std::function<Approx(double x, double u)> exact,
    std::function<void(const double* x, int64_t n, double u, kernel::Out out)> by_vectors,
    std::function<void(const float* x, int64_t n, kernel::ShortOut out)> of_short = {});

// A tensor with each element replaced by `f` of it, exactly or rounded once to `dtype`, made when it is read.
OperandPtr mapped_when_read(OperandPtr source, DType dtype, void (*f)(double* values, int64_t count));

}  // namespace assay

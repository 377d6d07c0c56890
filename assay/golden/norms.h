// What the norms have in common.
#pragma once

#include "assay/golden/bounded.h"
#include "assay/golden/quantized.h"
#include "assay/golden/ways.h"

namespace assay {

Result<GoldenOutputs> layer_norm(const GoldenCall& call);         // layer_norm.cc
Result<GoldenOutputs> cohere_layer_norm(const GoldenCall& call);  // layer_norm.cc
Result<GoldenOutputs> rms_norm(const GoldenCall& call);           // rms_norm.cc
Result<GoldenOutputs> rms_norm_backward(const GoldenCall& call);  // rms_norm_backward.cc

// Of a norm's own parameters, which are in an object named after its layerType: normParam.epsilon.
class NormParams {
 public:
  // An error where layerType is none of 1 (norm), 2 (the sum with a residual is an output too), 3.
  static Result<NormParams> of(const GoldenCall& call);

  int64_t layer_type() const { return layer_type_; }
  double epsilon() const { return epsilon_; }
  bool is_quantized() const { return is_quantized_; }
  int64_t dynamic_type() const { return dynamic_type_; }  // 0 none, 1 symmetric, 2 asymmetric

  Result<int64_t> integer_or(std::string_view key, int64_t otherwise) const;
  Result<int64_t> choice_or(std::string_view key, int64_t otherwise, std::span<const int64_t> allowed) const;
  Result<double> real_or(std::string_view key, double otherwise) const;
  Result<bool> flag_or(std::string_view key, bool otherwise) const;

 private:
  GoldenParams params_;
  std::string prefix_;
  int64_t layer_type_ = 0, dynamic_type_ = 0;
  double epsilon_ = 0;
  bool is_quantized_ = false;
};

// The last dimension of input 0, and as how many rows of it the tensor can be seen.
struct Rows {
  int64_t count = 0, width = 0;
};
Result<Rows> rows_of(const GoldenCall& call);

// Input 0, to which others are added, times a factor. Each has the same shape or can be broadcast to it.
// Honest implementations round products and sums on the way to the type of the tensor: what they write.
Result<BoundedNumbers> sum_of_inputs(const GoldenCall& call, std::span<const size_t> others, double factor);

// Which steps a kernel rounds to the type of the tensors before it normalises a sum. A kernel does so in all
// of a tensor or nowhere: each way is held against the whole of it, with a bound of f32.
struct SumWay {
  bool of_terms = false;    // what is added, times its factor
  bool of_partial = false;  // a sum that more is added to
  bool of_sum = false;      // the sum itself
  size_t last = 0;          // of three, the one that is added last
};
// The first rounds nothing; all others are there for tensors of 16 bits alone.
std::vector<SumWay> sum_ways(DType dtype, size_t others, double factor);
// The sum as a norm reads it.
Result<BoundedNumbers> norm_input(const GoldenCall& call, std::span<const size_t> others, double factor,
                                  const SumWay& way);
// How far the mean of a[i] · x[i] may be off where each x[i] has its own error, which do not conspire.
double error_of_mean_product(const double* a, const float* errors, int64_t n);

// An input of `width` elements, whatever its shape.
Result<std::vector<double>> weight_of(const GoldenCall& call, size_t i, int64_t width, std::string_view what);

// (y + beta) / scale + offset as int8; beta is an input that may be empty, or none (-1).
Result<Expected> quantized_by_quotient(const GoldenCall& call, const BoundedNumbers& y, int beta,
                                       size_t scale, size_t offset, ToInt8 to_int8);

}  // namespace assay

// Loops over numbers in f64 that run on vectors, chosen at run time for the CPU. Every CPU gives the same
// bits. For tensors of up to 32 bits: f64 ones need functions that are exact to the last bit.
// Values and errors as docs/operators/rows.md says; u is the unit of the arithmetic, our own error included.
#pragma once

#include <cstdint>

namespace assay::kernel {

// What our functions err by goes into every bound as a part of u: 2^-43 of a value is 2^-19 of f32's.
inline constexpr double kOwnErrorInUnits = 1 + 0x1p-16;

struct Out {
  double* values;
  double* errors;
};

void sigmoid(const double* x, int64_t n, double u, Out out);
void swish(const double* x, int64_t n, double scale, double u, Out out);
void swiglu(const double* a, const double* b, int64_t n, double u, Out out);
void gelu_by_tanh(const double* x, int64_t n, double u, Out out);
void gelu_by_erf(const double* x, int64_t n, double u, Out out);
void fast_gelu(const double* x, int64_t n, double u, Out out);
void logarithm(const double* x, int64_t n, double u, Out out);
void tanh(const double* x, int64_t n, double u, Out out);
void sine(const double* x, int64_t n, double u, Out out);
void cosine(const double* x, int64_t n, double u, Out out);
void softmax(const double* x, int64_t n, double u, Out out);  // of one row

// One operation; the error is `relative` times the value.
enum class Operation : uint8_t { add, subtract, multiply, divide };
void operate(Operation operation, const double* a, const double* b, int64_t n, double relative, Out out);
void scale(const double* x, double factor, int64_t n, double relative, Out out);

// Of n numbers, in lanes that add independently.
double sum_of(const double* x, int64_t n);
double sum_of_products(const double* x, const double* y, int64_t n);
double sum_of_squares(const float* x, int64_t n);
double sum_of_squares(const double* x, int64_t n);

// In place. A NaN stays one.
void cut_negative(double* values, int64_t n);  // to 0
void negate(double* values, int64_t n);

// x less its mean. Gives the sum of the squares, in lanes that add independently.
double centre(const double* x, double mean, int64_t n, double* out);
// x · factor · weight.
void weighted(const double* x, double factor, const double* weight, int64_t n, double relative, Out out);

// A row of layer norm: what it is multiplied by, and added to (null: nothing).
struct CentredRow {
  const double* weight;
  const double* bias;
  double inverse;                     // of the deviation
  double mean_error, relative_error;  // of the mean, and of the inverse
};
// out.errors holds the row, less its mean.
void centred(const CentredRow& row, int64_t n, double u, Out out);

// x · cos into out.values, and the other half of each block · sin into out.errors, the second half with its
// sign changed. Blocks of two turn by the angle of their even element.
void turn_head(const double* x, const double* cos, const double* sin, int64_t head, int64_t block, Out out);
// The sum of both, off by `unit` of each, and never by less than `least`.
void add_turned(double unit, double least, int64_t n, Out out);

// As f32, with what rounding to f32 costs in the bound.
void keep_short(const double* values, const double* errors, int64_t n, float* to, float* allowed);
// What is allowed where an error is so large, times `factor`, and `own` of the value.
void keep_allowed(const double* values, const double* errors, int64_t n, double factor, double own,
                  float* allowed);

// What is allowed where nothing is known of an element.
inline constexpr float kAnything = 3e38f;
// As f32, with what is allowed rounded up, to kAnything at most; nothing where the value is not finite.
void keep_narrow(const double* values, const double* errors, int64_t n, float* to, float* allowed);

}  // namespace assay::kernel

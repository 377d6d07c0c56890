// What is wrong with mine, in words, where the numbers are plain. Each sentence is true of the data, or is
// not said: see docs/page_data.md, "Diagnoses".
#pragma once

#include "assay/metric/detail/picture.h"

namespace assay::detail {

// The most telling first.
std::vector<Diagnosis> diagnose(const Looked& looked, const Detail& detail);

// Whether one of them says what became of all elements, so that there is nothing more to look for.
bool explains_all(std::span<const Diagnosis> diagnoses);

// ----- what the files of the diagnoses share

// The error that honest rounding of the coarser of two types leaves, as rel_l2: what is larger has a cause.
double honest_error(DType mine, DType golden);
// … and the error that may come from arithmetic in a coarser type than elements are stored in, which no type
// tells: f32 that was made of bf16 or TF32, bf16 in a file of NumPy.
inline constexpr double kHiddenRounding = 0.01;

// "only column 5 (of 64)", "only the last 16 of dim 0 (of 128)": where nearly all of the difference is.
// "mostly": what is elsewhere is more than the types explain.
std::vector<Diagnosis> regions(const Looked& looked);

// Whether mine is golden rounded to a coarser type, by the sample.
std::optional<Diagnosis> rounded(const Looked& looked, const Detail& detail);

// The typical size of golden's elements that are not 0: the median of the sample's.
double typical_size(std::span<const Sampled> sample);

}  // namespace assay::detail

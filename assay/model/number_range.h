// The numbers of one tensor, seen against the range of its type: what overflowed, and what is close to it.
#pragma once

#include "assay/model/dump.h"

#include <limits>

namespace assay {

struct NumberRange {
  static constexpr int64_t kNotKnown = -1;

  int64_t count = 0;  // components in all: two per complex element
  // Not known: statistics say that there are some.
  int64_t nans = 0, plus_infs = 0, minus_infs = 0;
  int64_t near_max = 0;  // finite, and within a factor of 2 of the largest number of the type
  int64_t subnormal = 0, zeros = 0;
  // Of the finite ones; NaN: there are none, or the dump does not say.
  double min = std::numeric_limits<double>::quiet_NaN(), max = std::numeric_limits<double>::quiet_NaN();
  double type_max = 0;           // the largest number of the type; 0: whole numbers, or the type is not known
  int64_t first_nonfinite = -1;  // component
  bool is_stated = false;        // told from statistics: no element was seen

  bool is_finite() const { return nans == 0 && infs() == 0; }
  int64_t infs() const {
    return plus_infs == kNotKnown || minus_infs == kNotKnown ? kNotKnown : plus_infs + minus_infs;
  }
  // The largest magnitude as a share of what the type can hold; NaN where one of them is not known.
  double of_type_max() const;
  void merge(const NumberRange& later);  // of the elements behind ours
};

// What statistics tell; nothing where they do not tell whether all elements are finite. `meta`: null where it
// is not known.
std::optional<NumberRange> stated_range(const Stated& stated, const TensorMeta* meta);

// Why no tensor can have these statistics: a largest element below the smallest one, or beyond the numbers of
// the type, or larger than the norm; a mean beyond both; a norm beyond that of as many of the largest. Empty:
// one can, as far as they tell.
std::string impossible_statistics(const Stated& stated, const TensorMeta* meta);

// "3 NaN, 1 Inf, 12 -Inf"; "NaN" where the number is not known; empty where all is finite.
std::string nonfinite_text(const NumberRange& range);

}  // namespace assay

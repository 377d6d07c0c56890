// The most probable words of one row: sorted, cut off after k of them and where their sum reaches p.
#pragma once

#include "assay/tensor/dtype.h"

#include <span>
#include <vector>

namespace assay {

class TopP {
 public:
  // Which words stay: the first k, or all that are not less probable than the one of rank k.
  struct Cut {
    int64_t rank = 0;
    bool is_by_value = false;
  };
  static Cut first(double k) { return {static_cast<int64_t>(k), false}; }
  static Cut beyond(double k) { return {static_cast<int64_t>(k), true}; }

  // Preconditions: a cut by value lies below the number of words, another one is at most that and not 0.
  TopP(std::span<const double> probabilities, DType dtype, Cut cut, double p);

  struct Pick {
    int64_t rank = 0;
    bool is_clear = true;  // false: another rounding of the sums picks another one
  };
  // The first word whose sum is beyond the draw, which is a share of the sum where p ends.
  Pick drawn(double draw, bool counts_equal) const;
  // The word with the largest quotient of its probability and a divisor, both by rank.
  Pick best_of(std::span<const double> divisors, DType dtype) const;

  int64_t place(int64_t rank) const { return places_[static_cast<size_t>(rank)]; }
  double probability(int64_t rank) const { return sorted_[static_cast<size_t>(rank)]; }

  struct Log {
    double value = 0;
    float allowed = 0;
    bool is_clear = true;
  };
  // Of the probability of a rank among the words that stay; -9999 for those that do not. Where p ends is told
  // by sums below p, or by those that are not above it.
  Log log(int64_t rank, bool is_up_to_p) const;

 private:
  struct Range {
    int64_t least = 0, likely = 0, most = 0;
  };
  Range last_below_p() const;
  Range last_up_to_p() const;

  DType dtype_;
  double p_;
  std::vector<int64_t> places_;
  std::vector<double> sorted_;  // falling
  std::vector<double> sums_;    // of what stays, rounded to the type; as many as there may be a draw from
  std::vector<double> errors_;  // of the sums
  size_t kept_ = 0;             // words that the first cut leaves
  Range below_p_, up_to_p_;     // the last word whose sum is below p, or not above it
  bool has_nan_ = false;
};

}  // namespace assay

// Measures two tensors that lie alike, and puts into the row what was found.
#pragma once

#include "assay/metric/band.h"
#include "assay/metric/metric.h"
#include "assay/model/outcome.h"
#include "assay/run/compare/side_statistics.h"
#include "assay/support/progress.h"
#include "assay/tensor/expected.h"

namespace assay {

class Algorithms;  // assay/run/algorithms.h

class RowGatherer {
 public:
  // All outlive this.
  RowGatherer(const MetricPlan& metrics, SideStatistics side_statistics, Progress& progress,
              bool checks_claims, Algorithms* algorithms = nullptr)
      : metrics_(metrics),
        side_statistics_(side_statistics),
        progress_(progress),
        checks_claims_(checks_claims),
        algorithms_(algorithms) {}

  // is_whole: these are the two tensors of the row, and nothing made of them. Answers how far they are apart:
  // the square of the relative error, infinite where NaN or infinities differ.
  // kept: what was gathered, for whoever looks more closely at the same two; left alone where that lacks what
  // he needs.
  double gather(const Operand& mine, const Operand& golden, bool is_whole, PairScratch& scratch,
                Comparison& row, std::optional<DType> rounded_to = {}, const Expected* expected = nullptr,
                std::shared_ptr<const PairSums>* kept = nullptr);
  // A row that would fail may hold values that were rounded to a coarser type than that of the file: then its
  // steps are those of that type.
  void gather_rounded(const Operand& mine, const Operand& golden, bool is_whole, PairScratch& scratch,
                      Comparison& row);

  // What was gathered of the ranks of a tensor can be put together: nothing is asked that takes all of it at
  // once.
  bool can_put_together(const Comparison& row) const;
  Result<Gathered> sums(const Operand& mine, const Operand& golden, std::optional<DType> rounded_to,
                        PairScratch& scratch);
  // The row of what was gathered; the answer is that of gather().
  double fill(const Gathered& gathered, std::optional<DType> rounded_to, Comparison& row) const;
  // How far apart a row says that its tensors are; nothing: none of its metrics does.
  std::optional<double> error_in(const Comparison& row) const;

 private:
  const MetricPlan& metrics_;
  const SideStatistics side_statistics_;
  Progress& progress_;
  const bool checks_claims_;  // elements that are not what the dump says of them are refused
  Algorithms* const algorithms_;
};

}  // namespace assay

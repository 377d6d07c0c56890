// Makes the rows of one node after the other: both sides of each pair are taken, laid alike and gathered.
#pragma once

#include "assay/run/compare/look.h"
#include "assay/run/compare/measure.h"
#include "assay/run/compare/pair_aligner.h"
#include "assay/run/compare/rank_rows.h"
#include "assay/run/compare/row_details.h"
#include "assay/run/compare/row_gatherer.h"
#include "assay/run/compare/siblings.h"
#include "assay/run/compare/side_taker.h"
#include "assay/run/compare/stated_comparison.h"

#include <memory>
#include <mutex>

namespace assay {

// What was gathered of a pair that may be looked at more closely.
struct KeptSums {
  Pair pair;
  std::shared_ptr<const PairSums> sums;

  bool is_of(const Pair& other) const {
    return pair.mine == other.mine && pair.golden == other.golden && pair.plans == other.plans;
  }
};

// Any thread, each with a scratch of its own.
class Measurer {
 public:
  Measurer(const Matched& matched, const MetricPlan& metrics, const OpenOptions& options, Progress& progress,
           SideStatistics side_statistics, const Prepare& prepare, const RowFlow& flow,
           const GoldenOptions& golden);

  NodeResult without_rows(const PairedNode& node) const;
  // A node; several where ranks that have nodes of their own have rows of their own.
  void measure_node(const PairedNode& node, PairScratch& scratch, std::vector<NodeResult>& out,
                    std::vector<KeptSums>& kept);
  // What one more look shows. That it cannot be had takes nothing from a row that failed anyway.
  std::shared_ptr<const Detail> look_again(const Comparison& row, const RowFlow& flow, PairScratch& scratch,
                                           std::span<const KeptSums> kept);
  int64_t bytes_of(const PairedNode& node) const;
  Loader& loader() { return loader_; }

 private:
  Comparison measure_pair(const Pair& pair, std::string_view node, PairScratch& scratch,
                          std::vector<KeptSums>& kept);
  // of_mine, of_golden: the tensors that the row describes.
  void align_and_gather(const Made& mine, const Made& golden, std::string_view node, PairScratch& scratch,
                        Comparison& row, OperandPtr& of_mine, OperandPtr& of_golden,
                        std::vector<KeptSums>& kept);
  // Ranks hold a tensor in one type; where the sides differ, one of the ranks may have gone astray.
  void note_types(DType mine, DType golden, Comparison& row);
  // Each rank of a side holds the tensor whole: all of them have to agree. The row is that of the worst.
  void gather_copies(const Made& mine, const Made& golden, const Aligned& first, double error,
                     PairScratch& scratch, Comparison& row);
  // A table that numbers its pairs is another tool's, which looks at the first rank only.
  bool compares_copies(const Pair& pair) const { return !is_prepared_ && pair.number < 0; }

  const Matched& matched_;
  const MetricPlan& metrics_;
  Progress& progress_;
  const std::function<bool(const Comparison&, std::string_view)>& doubts_;
  const bool looks_closely_;
  Loader loader_;
  SideTaker sides_;
  RowGatherer rows_;
  const StatedComparison stated_;
  Siblings siblings_;
  const SideStatistics side_statistics_;
  const PairAligner aligner_;
  const bool is_prepared_;
  RankRows ranks_;
  std::once_flag details_made_;
  std::unique_ptr<RowDetails> details_;  // made when the first row fails
};

}  // namespace assay

// Pairs without data on one side at least: what the dumps say of the tensors is compared instead.
#pragma once

#include "assay/metric/metric.h"
#include "assay/model/outcome.h"
#include "assay/run/compare/load.h"

namespace assay {

// Statistics of a file in the words of a dump; they own their text.
std::shared_ptr<const Stated> keep_stated(Stats stats);

// Whether there is anything to compare by.
bool says_something(const Stated* stated);

class StatedComparison {
 public:
  // All outlive this.
  StatedComparison(const Matched& matched, const MetricPlan& metrics, Loader& loader);
  // Statistics of a side with data (else null) are taken from it. The row stays as it is where a side has
  // neither.
  void compare(const OperandPtr& mine_data, const OperandPtr& golden_data, Comparison& row) const;

 private:
  enum class Joined : uint8_t { not_at_all, of_one_rank, of_all_ranks };
  Joined join_parts(const std::vector<PlanSource>& sources, SideFacts& facts, const SideFacts& other) const;
  bool join_ranks(Side side, const ItemId& id, SideFacts& facts, const SideFacts& other) const;
  Result<std::vector<ShardStatistics>> shard_statistics(Side side, const ItemId& id,
                                                        bool with_checksum) const;
  bool compare_copies(Comparison& row, int64_t mine_left, int64_t golden_left) const;
  int64_t ranks_left_out(Side side, const ItemId& id, bool is_joined) const;
  bool may_be_same(const SideFacts& mine, const SideFacts& golden) const;

  const Matched& matched_;
  const MetricPlan& metrics_;
  Loader& loader_;
  bool dumped_with_data_ = false;
};

}  // namespace assay

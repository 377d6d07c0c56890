#include "assay/run/compare/measure.h"

#include "assay/base/cancel.h"
#include "assay/run/cluster/team.h"
#include "assay/run/compare/measurer.h"
#include "assay/run/compare/reruns.h"
#include "assay/support/parallel.h"

#include <algorithm>
#include <memory>
#include <mutex>

namespace assay {
namespace {

// A batch is large enough to hide the cost of handing it on, small enough to share out.
constexpr size_t kBatchNodes = 64;
constexpr int64_t kBatchBytes = int64_t{32} << 20;

// Golden operators hold whole tensors, as f64 and with a bound for each element: about so many bytes for each
// one that was dumped of them.
constexpr int64_t kHeldByOperator = 16;

// Bytes of the tensors of the largest operator that is run again; 0: none is.
int64_t largest_operator(const Matched& matched) {
  const Loader loader(matched.frames, {});
  int64_t largest = 0;
  for (const PairedNode& node : matched.pairing.nodes) {
    int64_t bytes = 0;
    for (const Pair& pair : node.pairs) {
      if (!pair.is_computed()) continue;
      for (const PlanSource& source : pair.plan(Side::golden)->from)
        bytes += loader.size_of_item(source.side, source.item);
    }
    largest = std::max(largest, bytes);
  }
  return largest;
}

struct Batch {
  size_t first = 0, last = 0;  // of Pairing::nodes
  std::vector<NodeResult> nodes;
  std::vector<KeptSums> kept;
  std::vector<Comparison*> in_for_detail;
  std::vector<std::string> rendered;
};

}  // namespace

Result<void> measure(const Matched& matched, const MetricPlan& metrics, const OpenOptions& options,
                     const RowFlow& flow, bool one_by_one, Progress& progress, SideStatistics side_statistics,
                     const Prepare& prepare, GoldenOptions golden) {
  const int64_t operator_bytes = largest_operator(matched);
  const bool runs_operators = operator_bytes > 0;
  auto packets = static_cast<int64_t>(2 * threads_at_work());
  if (runs_operators) {  // as many at a time as the memory has room for; each of them may use all cores
    packets = std::clamp<int64_t>(golden.memory / kHeldByOperator / operator_bytes, 1, packets);
    golden.memory /= packets;
  }
  Measurer measurer(matched, metrics, options, progress, side_statistics, prepare, flow, golden);
  const std::vector<PairedNode>& nodes = matched.pairing.nodes;
  PerThread<PairScratch> scratches;
  const size_t most = one_by_one || runs_operators ? 1 : kBatchNodes;
  std::atomic<bool> stop{false};
  std::optional<Error> error;
  size_t next = 0;

  const auto cut_batch = [&](size_t& from, size_t end) -> std::unique_ptr<Batch> {
    if (from >= end || stop || cancelled()) return nullptr;
    auto batch = std::make_unique<Batch>();
    batch->first = from;
    int64_t bytes = 0;
    while (from < end && from - batch->first < most && bytes < kBatchBytes)
      bytes += measurer.bytes_of(nodes[from++]);
    batch->last = from;
    return batch;
  };
  std::optional<TeamRows> of_team;
  if (flow.team != nullptr) {
    PieceWork of_piece;
    of_piece.measure = [&](const WorkPiece& piece, SharedBands* shared) {
      std::vector<NodeRows> rows(piece.last - piece.first);
      size_t from = piece.first;
      Pipeline<Batch>([&] { return cut_batch(from, piece.last); })
          .then(StageOrder::any,
                [&](Batch& batch) {
                  PairScratch& scratch = scratches.local();
                  const SharedBandsScope together(shared);
                  for (size_t i = batch.first; i < batch.last && !cancelled(); ++i) {
                    std::vector<KeptSums> unseen;  // process 0 looks closely, and has none of these
                    measurer.measure_node(nodes[i], scratch, rows[i - piece.first], unseen);
                  }
                })
          .run(WhileWaiting::stands, static_cast<size_t>(packets));
      return rows;
    };
    of_piece.blank = [&](size_t node) { return measurer.without_rows(nodes[node]); };
    of_piece.progress = [&](int64_t bytes) { progress.done(bytes); };
    ASSAY_TRY_DO(flow.team->measure_section(
        matched,
        cut_in_pieces(matched.pairing, !runs_operators && !matched.pairing.by_itself,
                      [&](const PairedNode& node) { return measurer.bytes_of(node); }),
        std::move(of_piece)));
    if (!flow.team->leads()) return {};
    of_team.emplace(*flow.team);
  }
  const auto next_batch = [&]() -> std::unique_ptr<Batch> {
    if (!of_team) return cut_batch(next, nodes.size());
    if (stop || cancelled()) return nullptr;
    auto batch = std::make_unique<Batch>();
    for (size_t count = 0; count < most && of_team->take(batch->nodes); ++count) {
    }
    return batch->nodes.empty() ? nullptr : std::move(batch);
  };
  const auto work = [&](Batch& batch) {
    PairScratch& scratch = scratches.local();
    for (size_t i = batch.first; i < batch.last && !cancelled(); ++i)
      measurer.measure_node(nodes[i], scratch, batch.nodes, batch.kept);
  };
  const auto judge = [&](Batch& batch) { flow.judge(batch.nodes); };
  std::optional<Reruns> reruns;
  if (flow.origin >= OriginBy::run)
    reruns.emplace(matched, measurer.loader(), metrics, golden, prepare, flow.origin, bytes_to_read(matched),
                   flow.doubts);
  const auto run_again = [&](Batch& batch) {
    PairScratch& scratch = scratches.local();
    for (NodeResult& node : batch.nodes)
      if (!cancelled()) reruns->run(node, scratch);
  };
  const auto choose = [&](Batch& batch) {
    for (NodeResult& node : batch.nodes)
      for (Comparison& row : node.rows)
        if (flow.details->take(row, relative_error(metrics.columns, row)))
          batch.in_for_detail.push_back(&row);
  };
  const auto look_again = [&](Batch& batch) {
    if (batch.in_for_detail.empty() || cancelled()) return;
    PairScratch& scratch = scratches.local();
    for (Comparison* row : batch.in_for_detail)
      row->detail = measurer.look_again(*row, flow, scratch, batch.kept);
  };
  const auto render = [&](Batch& batch) { batch.rendered = flow.render(batch.nodes); };
  const auto write = [&](Batch& batch) {
    if (stop || cancelled()) return;
    const auto go_on = flow.write(batch.nodes, std::move(batch.rendered));
    if (!go_on) error = go_on.error();
    if (!go_on || !*go_on) stop = true;
  };
  Pipeline<Batch> pipeline(next_batch);
  pipeline.then(StageOrder::any, work).then(flow.judge_in_order ? StageOrder::kept : StageOrder::any, judge);
  if (reruns) pipeline.then(StageOrder::kept, run_again);
  if (flow.details != nullptr)  // which rows, report order decides
    pipeline.then(StageOrder::kept, choose).then(StageOrder::any, look_again);
  pipeline.then(StageOrder::any, render)
      .then(StageOrder::kept, write)
      .run(WhileWaiting::helps, static_cast<size_t>(packets));
  if (error) return tl::unexpected<Error>(std::move(*error));
  ASSAY_TRY_DO(check_cancelled());
  return of_team ? of_team->outcome() : Result<void>();
}

int64_t bytes_to_read(const Matched& matched) {
  const Loader loader(matched.frames, {});
  int64_t bytes = 0;
  for (const PairedNode& node : matched.pairing.nodes)
    for (const Pair& pair : node.pairs)
      if (pair.mine && (pair.golden || matched.pairing.by_itself)) bytes += loader.size_of_pair(pair);
  return bytes;
}

}  // namespace assay

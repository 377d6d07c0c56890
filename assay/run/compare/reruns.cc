#include "assay/run/compare/reruns.h"

#include "assay/judge/error_gain.h"
#include "assay/judge/introduced.h"
#include "assay/match/ops/golden_op.h"
#include "assay/model/op_kind.h"
#include "assay/model/torch_call.h"
#include "assay/run/compare/gather_bounded.h"
#include "assay/run/compare/gather_parallel.h"
#include "assay/run/compare/row_facts.h"
#include "assay/run/compare/torch_step.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

namespace assay {
namespace {

// Small dumps are never cut short: this is some tenths of a second.
constexpr int64_t kLeastBudget = int64_t{1} << 30;

// About so many multiplications cost what reading a byte does.
constexpr int64_t kProductsPerByte = 8;

MetricPlan metrics_of_own() {
  const std::array<std::string, 4> names = {"rel_l2", "max_abs", "golden_rms", "worst_golden"};
  return *plan_metrics(names);
}

// What the account allows of an operator by itself (judge/ledger.cc).
constexpr double kMargin = 2, kElements = 16, kElement = 4;

std::span<const int> results_in_place(std::string_view type) {
  const GoldenOp* const op = find_golden_op(type);
  return op == nullptr ? std::span<const int>() : op->in_place.results;
}

const TensorMeta* meta_of(const Matched& matched, const ItemId& item) {
  return matched.item(Side::mine, item).meta;
}

}  // namespace

bool can_rerun(const Dump& mine) {
  constexpr std::array<std::string_view, 3> kLayouts = {"atb", "msprobe", "torchair_fx"};
  return mine.layout != nullptr && std::ranges::find(kLayouts, mine.layout->name) != kLayouts.end();
}

Reruns::Reruns(const Matched& matched, Loader& loader, const MetricPlan& metrics,
               const GoldenOptions& options, const Prepare& prepare, OriginBy by, int64_t bytes,
               IsOver is_over)
    : matched_(matched),
      loader_(loader),
      columns_(metrics.columns),
      steps_(matched.frames, loader, options, prepare),
      by_(by),
      is_over_(std::move(is_over)),
      error_(metrics_of_own()),
      budget_(by == OriginBy::run_all ? std::numeric_limits<int64_t>::max()
                                      : std::max(kLeastBudget, bytes / 2)) {}

bool Reruns::is_wanted(const NodeResult& node, const Comparison& row) const {
  if (!row.pair.mine || row.basis != Basis::data || row.status != Status::compared) return false;
  if (direction_of(row) != Direction::output || row.mine.item == nullptr) return false;
  if (by_ == OriginBy::run_all) return true;
  if (row.verdict.level == Level::fail) return !row.verdict.is_flip;
  return row.verdict.level == Level::pass && is_over_ && is_over_(row, node.name);
}

OpKind Reruns::kind_of_node(const ItemId& item) const {
  const Node& node = matched_.frames.node(Side::mine, item);
  return kind_of(matched_.frames.frame(Side::mine, item).framework,
                 node.type.empty() ? node.name : node.type);
}

// Norms, softmax and activations are made of several steps, and some frameworks round each of them to a type
// of 16 bits: what the account allows of such a call is no error that it made.
bool Reruns::is_own_rounding(const ItemId& output, DType dtype, const std::vector<Value>& apart) const {
  const OpKind kind = kind_of_node(output);
  const bool is_composed = is_norm(kind) || kind == OpKind::softmax || kind == OpKind::activation;
  if (!is_composed || info(dtype).mantissa_bits > info(DType::f16).mantissa_bits) return false;
  if (torch_function(matched_.frames.frame(Side::mine, output), matched_.frames.node(Side::mine, output))
          .empty())
    return false;
  const auto number = [&](std::string_view name) {
    const auto at = static_cast<size_t>(std::ranges::find(error_.columns, name) - error_.columns.begin());
    const auto* const real = at < apart.size() ? std::get_if<double>(&apart[at]) : nullptr;
    return real != nullptr ? *real : std::nan("");
  };
  const double allowed = kMargin * own_error({kind}, {}, {}, dtype);
  return number("rel_l2") <= allowed &&
         (number("max_abs") <= kElements * allowed * number("golden_rms") ||
          number("max_abs") <= kElement * allowed * std::abs(number("worst_golden")));
}

// In bytes read: of its tensors, and what multiplying them takes.
int64_t Reruns::work_of(const Plan& plan, size_t ranks) const {
  int64_t bytes = 0;
  for (const PlanSource& source : plan.from) bytes += loader_.size_of_item(Side::mine, source.item);
  const ItemId& output = plan.from.front().item;
  const TensorMeta* const result = meta_of(matched_, output);
  int64_t products = 0;
  if (result != nullptr && plan.from.size() > 1) {
    const OpKind kind = kind_of_node(output);
    const TensorMeta* const first = meta_of(matched_, plan.from[1].item);
    if (multiplies_matrices(kind) && first != nullptr && !first->shape.dims.empty()) {
      const std::vector<int64_t>& dims = first->shape.dims;
      // Of attention each position is multiplied with all others, twice.
      const int64_t positions = dims.size() == 4 ? dims[2] : dims.front();
      const int64_t length = kind == OpKind::attention ? 2 * positions : dims.back();
      products = static_cast<int64_t>(
          std::min(static_cast<double>(result->shape.count()) * static_cast<double>(length), 1e18));
    }
  }
  const auto work = static_cast<double>(ranks) *
                    (static_cast<double>(bytes) + static_cast<double>(products / kProductsPerByte));
  return static_cast<int64_t>(std::min(work, 1e18));
}

std::vector<OutputPlan> Reruns::plans_of(const ItemId& item) const {
  const Frame& frame = matched_.frames.frame(Side::mine, item);
  if (find_golden_op(matched_.frames.node(Side::mine, item).type) != nullptr)
    return plans_of_outputs(frame, item.frame, item.node, results_in_place);
  return plans_of_torch_call(frame, item.frame, item.node);
}

void Reruns::run(NodeResult& node, PairScratch& scratch) {
  std::vector<OutputPlan> plans;
  std::optional<ItemId> of;  // the node that they are of: rows of one may come from several
  for (Comparison& row : node.rows) {
    if (!is_wanted(node, row)) continue;
    const ItemId& item = *row.pair.mine;
    if (!of || of->frame != item.frame || of->node != item.node) {
      of = item;
      plans = plans_of(item);
    }
    const auto found = std::ranges::find(plans, item.item, &OutputPlan::item);
    if (found == plans.end()) continue;
    const int64_t work = by_ == OriginBy::run_all
                             ? 0
                             : work_of(found->plan, std::max<size_t>(1, row.mine.item->shards().size()));
    if (work > budget_) {
      Rerun skipped;
      skipped.why_not = "it was not run again, for that would take too long: --origin all";
      row.rerun = std::make_shared<const Rerun>(std::move(skipped));
      continue;
    }
    budget_ -= work;
    row.rerun = rerun(found->plan, row, scratch);
    tell_rerun(row);
  }
  steps_.forget();
}

// On every rank that has a share of the tensor, or a copy: the one that is furthest off.
std::shared_ptr<const Rerun> Reruns::rerun(const Plan& plan, const Comparison& row, PairScratch& scratch) {
  const size_t ranks = row.mine.item->shards().size();
  Result<Rerun> worst = rerun_on(ranks < 2 ? GoldenSteps::kOwnRank : 0, plan, scratch);
  for (size_t rank = 1; worst && rank < ranks; ++rank) {
    Result<Rerun> next = rerun_on(static_cast<int32_t>(rank), plan, scratch);
    // A rank that cannot be run leaves the tensor unknown, whatever the others show.
    if (!next || next->found.worst > worst->found.worst) worst = std::move(next);
    if (worst && ranks > 1 && worst->rank.empty())
      worst->rank = fmt::format("rank {} of {}", rank + 1, ranks);
  }
  if (worst) {
    worst->measured = relative_error(columns_, row);
    return std::make_shared<const Rerun>(std::move(*worst));
  }
  Rerun failed;
  failed.why_not = std::move(worst.error().message);
  return std::make_shared<const Rerun>(std::move(failed));
}

Result<Rerun> Reruns::rerun_on(int32_t rank, const Plan& plan, PairScratch& scratch) {
  ASSAY_TRY(const Expected expected, steps_.run_on(rank, plan, plan.steps.front()));
  ASSAY_TRY(const OperandPtr mine, steps_.load(rank, plan.from.front().item));
  if (mine->meta.shape.count() != expected.value->meta.shape.count())
    return fail(ErrorKind::mismatch, "{} gives shape {}", expected.computed,
                expected.value->meta.shape.text());
  Rerun out;
  ASSAY_TRY(out.found, gather_bounded(*mine, expected));
  if (out.found.unknown > 0 && out.found.beyond == 0)
    return fail(ErrorKind::unsupported, "{} of {} elements cannot be known", out.found.unknown,
                out.found.count);
  if (out.found.beyond > 0) {
    ASSAY_TRY(const bool is_lost, steps_.has_overwritten_input(rank, plan, *mine));
    if (is_lost) return fail(ErrorKind::unsupported, "{} worked in place", expected.computed);
  }
  out.computed = expected.computed;
  const OperandPtr written = as_written(expected, mine);
  Progress silent("", 0, false);
  scratch.forget();
  ASSAY_TRY(const Gathered gathered, gather_parallel(*mine, *written, error_.gathering(), scratch, silent));
  scratch.forget();
  const std::vector<Value> values = error_.finish(gathered);
  const auto at = std::ranges::find(error_.columns, "rel_l2") - error_.columns.begin();
  if (const auto* const relative = std::get_if<double>(&values.at(static_cast<size_t>(at))))
    out.introduced = *relative;
  if (out.found.beyond > 0 && is_own_rounding(plan.from.front().item, mine->meta.dtype, values))
    out.found.beyond = 0;
  return out;
}

}  // namespace assay

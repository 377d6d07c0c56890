#include "assay/judge/lineage.h"

#include "assay/judge/native_defaults.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace assay {
namespace {

constexpr double kUnknown = std::numeric_limits<double>::infinity();

std::optional<double> number_at(const Comparison& row, int column) {
  if (column < 0 || static_cast<size_t>(column) >= row.metrics.size()) return std::nullopt;
  const auto* const real = std::get_if<double>(&row.metrics[static_cast<size_t>(column)]);
  return real != nullptr ? std::optional(*real) : std::nullopt;
}

int32_t port_of(const Comparison& row) {
  return (row.mine.item != nullptr ? row.mine.item : row.golden.item)->port.index;
}

bool has_data_of_reals(const Comparison& row) {
  return row.basis == Basis::data && is_real(deciding_dtype(row.mine.meta->dtype, row.golden.meta->dtype));
}

// Single elements may be this many times as far off as the whole, measured in their own size.
constexpr double kElementsOfOwn = 4;

// … and of a product of matrices, in root mean squares.
constexpr double kElementsOfWhole = 16;

// Honest products have 1.32 times the errors of their inputs, once cancellation is counted (measured, see
// docs/rules.md).
constexpr double kMuchCancels = 2, kOfAProduct = 1.5;

// What an operator that is given no error makes itself, at most.
double own_rounding(const Comparison& row, const ModelPlace& place) {
  return relative_bound(row.mine.meta->dtype, row.golden.meta->dtype, {.coarsest = place.coarsest});
}

// How much an output says of the terms it is the sum of. A product of matrices whose terms cancel is smaller
// than such terms make it on average, and the errors of its inputs, which do not cancel, weigh more by as
// much: ‖A‖ ‖B‖ / (√(batches · length of the sums) ‖A B‖).
double cancellation(const double (&rms)[3], const TensorMeta* const (&metas)[3]) {
  double norms[3], counts[3];
  for (size_t i = 0; i < 3; ++i) {
    counts[i] = static_cast<double>(metas[i]->shape.count());
    if (!(rms[i] > 0) || !(counts[i] > 0)) return 1;
    norms[i] = rms[i] * std::sqrt(counts[i]);
  }
  double batches = 1;
  const std::vector<int64_t>& dims = metas[2]->shape.dims;
  if (metas[1]->shape.dims.size() > 2)
    for (size_t i = 0; i + 2 < dims.size(); ++i) batches *= static_cast<double>(dims[i]);
  const double length = std::sqrt(counts[0] * counts[1] / counts[2] / batches);
  return std::max(1.0, norms[0] * norms[1] / (std::sqrt(batches * length) * norms[2]));
}

}  // namespace

const InputSource* find_source(std::span<const InputSource> sources, int32_t port) {
  const auto found = std::ranges::lower_bound(sources, port, {}, &InputSource::port);
  return found == sources.end() || found->port != port ? nullptr : &*found;
}

Lineage::Lineage(const Head& head)
    : error_column_(find_column(head, "rel_l2")),
      max_column_(find_column(head, "max_abs")),
      rms_column_(find_column(head, "golden_rms")) {}

std::optional<Lineage::Tensor> Lineage::tensor_of(const Comparison& row) const {
  const auto error = number_at(row, error_column_);
  if (!error) return std::nullopt;
  return Tensor{*error,
                number_at(row, max_column_).value_or(0),
                number_at(row, rms_column_).value_or(0),
                row.golden.meta,
                port_of(row),
                row.verdict.level == Level::fail};
}

const Lineage::Tensor* Lineage::find_result(const InputSource& source) const {
  if (source.kind != InputSource::Kind::result) return nullptr;
  const auto found = results_.find(result_key(source.node, source.output));
  return found == results_.end() ? nullptr : &found->second;
}

Lineage::Inputs Lineage::inputs_of(const NodeResult& node) const {
  Inputs inputs;
  std::unordered_map<int32_t, size_t> by_port;
  for (const Comparison& row : node.rows) {
    if (direction_of(row) != Direction::input || !has_data_of_reals(row)) continue;
    auto tensor = tensor_of(row);
    if (!tensor) return {};
    if (const InputSource* const source = find_source(node.sources, tensor->port))
      if (const Tensor* const result = find_result(*source)) tensor->amplified = result->amplified;
    // An input may have been dumped before and after the operation.
    const auto [same, is_new] = by_port.try_emplace(tensor->port, inputs.tensors.size());
    if (is_new)
      inputs.tensors.push_back(std::move(*tensor));
    else
      inputs.tensors[same->second].error = std::max(inputs.tensors[same->second].error, tensor->error);
  }
  const bool has_own = !inputs.tensors.empty();
  inputs.are_known = has_own || (node.place.has_graph && !node.sources.empty());
  if (!node.place.has_graph) return inputs;
  for (const InputSource& source : node.sources) {
    if (by_port.contains(source.port)) continue;
    if (const Tensor* const result = find_result(source)) {
      inputs.tensors.push_back(*result);
      inputs.tensors.back().port = source.port;
    } else if (source.kind != InputSource::Kind::given && !has_own) {
      inputs.are_known = false;
    }
  }
  return inputs;
}

Heritage Lineage::handed_on(const Inputs& inputs, const ModelPlace& place, const Comparison& output) const {
  if (!inputs.are_known) return {kUnknown};
  double sum = 0, weighted = 0;         // errors; those of a sum, beside what is left of it
  double elements = 0, of_largest = 0;  // the same of single elements
  bool is_amplified = false, has_failed = false;
  const double rms = number_at(output, rms_column_).value_or(0);
  for (const Tensor& input : inputs.tensors) {
    sum += input.error;
    weighted += rms > 0 ? input.error * input.rms / rms : 0;
    elements += input.rms > 0 ? input.max_abs / input.rms : 0;
    of_largest += rms > 0 ? input.max_abs / rms : 0;
    is_amplified |= input.amplified;
    has_failed |= input.failed;
  }
  const auto is_matrix = [](const RowMeta& meta) { return meta && meta->shape.dims.size() >= 2; };
  std::vector<const Tensor*> matrices;
  for (const Tensor& input : inputs.tensors)
    if (is_matrix(input.meta)) matrices.push_back(&input);
  double factor = 1;
  if (place.is_product && matrices.size() == 2 && is_matrix(output.golden.meta))
    factor = cancellation({matrices[0]->rms, matrices[1]->rms, rms},
                          {&*matrices[0]->meta, &*matrices[1]->meta, &*output.golden.meta});
  sum *= factor;
  Heritage heritage{sum};
  if (has_failed) return heritage;
  if (factor >= kMuchCancels) {
    heritage.amplified = kOfAProduct * sum;
    heritage.amplified_max = kElementsOfWhole * heritage.amplified;
  }
  if (place.is_sum && weighted > sum) {
    const double own = own_rounding(output, place);
    heritage = {weighted, weighted + own, of_largest + kElementsOfOwn * own};
  }
  if (is_amplified) {
    heritage.amplified = std::max(heritage.amplified, kHandedOn * heritage.inherited);
    heritage.amplified_max = std::max(heritage.amplified_max, kHandedOn * elements);
  }
  return heritage;
}

Heritage Lineage::of_row(const NodeResult& node, const Inputs& inputs, const Comparison& row) const {
  if (node.place.is_group || error_column_ < 0 || !has_data_of_reals(row)) return {kUnknown};
  const Direction direction = direction_of(row);
  if (direction == Direction::output) return handed_on(inputs, node.place, row);
  if (direction != Direction::input) return {kUnknown};
  const InputSource* const source = find_source(node.sources, port_of(row));
  if (source == nullptr || source->kind != InputSource::Kind::result) return {kUnknown};
  if (const Tensor* const result = find_result(*source)) {
    if (!result->amplified || !(result->rms > 0)) return {kUnknown};
    // The same tensor again, perhaps in another type.
    const double own = own_rounding(row, node.place);
    return {kUnknown, result->error + own, result->max_abs / result->rms + kElementsOfOwn * own};
  }
  const auto producer = without_results_.find(source->node);
  return producer == without_results_.end() ? Heritage{kUnknown}
                                            : handed_on(producer->second.inputs, producer->second.place, row);
}

bool Lineage::is_amplified(const Tensor& tensor, const NodeResult& node, const Inputs& inputs,
                           const Comparison& row) const {
  if (row.verdict.level != Level::pass) return false;
  const double own = own_rounding(row, node.place);
  if (tensor.error <= own / 2 && tensor.max_abs <= kElementsOfOwn * own * tensor.rms) return false;
  return of_row(node, inputs, row).amplified > 0;
}

void Lineage::keep(const NodeResult& node, Inputs inputs) {
  if (!node.place.has_graph) return;
  bool has_result = false;
  for (const Comparison& row : node.rows) {
    const Direction direction = direction_of(row);
    if (direction == Direction::output && row.status == Status::compared) has_result = true;
    if (!has_data_of_reals(row) || (direction != Direction::output && direction != Direction::input))
      continue;
    auto tensor = tensor_of(row);
    if (!tensor) continue;
    if (direction == Direction::output) {
      tensor->amplified = is_amplified(*tensor, node, inputs, row);
      results_.insert_or_assign(result_key(node.index, port_of(row)), std::move(*tensor));
    } else if (const InputSource* const source = find_source(node.sources, port_of(row));
               source != nullptr && source->kind == InputSource::Kind::result &&
               find_result(*source) == nullptr) {
      // The first to be given what its own operator has no row of.
      tensor->amplified = is_amplified(*tensor, node, inputs, row);
      results_.emplace(result_key(source->node, source->output), std::move(*tensor));
    }
  }
  if (!has_result) without_results_.insert_or_assign(node.index, Operator{std::move(inputs), node.place});
}

}  // namespace assay

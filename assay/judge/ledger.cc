#include "assay/judge/ledger.h"

#include "assay/judge/call_name.h"
#include "assay/judge/native_defaults.h"
#include "assay/judge/sources.h"
#include "assay/judge/stated_errors.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <utility>

namespace assay {
namespace {

// Errors are allowed this many times over: what is expected of them is a typical size, no bound. That of a
// few elements is less sure than that of many.
constexpr double kMargin = 2;
double margin_of(const GivenError& error) {
  return kMargin * (1 + 1 / std::sqrt(std::max(error.count, 1.0)));
}
// What nothing in the dump made may have the errors of the model so far, once more through an operator.
constexpr double kUnseen = 2.5;
// Single elements may be off by as many times the typical error.
constexpr double kElements = 16;
constexpr double kSame = 1e-9;  // two passes over one tensor in another shape add up in another order

double measured_at(const Comparison& row, int column) {
  if (column < 0 || static_cast<size_t>(column) >= row.metrics.size()) return std::nan("");
  const auto* const real = std::get_if<double>(&row.metrics[static_cast<size_t>(column)]);
  return real != nullptr ? *real : std::nan("");
}

DType kept_type(const Comparison& row) {
  const DType dtype = deciding_dtype(row.mine.meta->dtype, row.golden.meta->dtype);
  return row.judged_as ? deciding_dtype(dtype, *row.judged_as) : dtype;
}

// Types of fewer bits have rules of their own.
bool has_steps(DType dtype) {
  return dtype == DType::f64 || dtype == DType::f32 || dtype == DType::f16 || dtype == DType::bf16;
}

// Errors of equal size, to one part in a million: many tensors of 16 bits have the same largest error.
uint64_t key_of(const GivenError& error, double relative) {
  const uint64_t size = std::bit_cast<uint64_t>(relative) >> 32;
  return (std::bit_cast<uint64_t>(error.largest) * 0x9e3779b97f4a7c15 + static_cast<uint64_t>(error.count)) *
             0x9e3779b97f4a7c15 +
         size;
}

// Of tensors that agree in all that but their size; a dump that repeats them without end must not ask for a
// million million comparisons.
constexpr size_t kMostAlike = 64;

bool is_same_number(double a, double b) {
  return std::abs(a - b) <= kSame * std::max(std::abs(a), std::abs(b));
}

// Dumps that name what every call was given and what it gave, and have no graph.
bool is_of_calls(const Head& head) {
  return head.mine_layout == "msprobe" && head.golden_layout == "msprobe";
}

// The dump says where it stands: more is known than an order.
bool is_in_model(const ModelPlace& place, std::span<const InputSource> sources) {
  return place.kind != OpKind::unknown || place.layers_before > 0 || place.is_compiled ||
         place.is_quantised || !sources.empty();
}

// What becomes of one input in the output; all the others are taken to have no error.
std::vector<Account::Input> inputs_in_account(const Operation& operation, std::span<const GivenError> given,
                                              std::span<const GivenError> used, const GivenError& output) {
  constexpr size_t kMost = 16;
  std::vector<Account::Input> inputs;
  std::vector<GivenError> alone(given.begin(), given.end()), alone_used(used.begin(), used.end());
  for (std::vector<GivenError>* const each : {&alone, &alone_used})
    for (GivenError& error : *each) error.relative = 0;
  const auto add = [&](const GivenError& of, GivenError& place) {
    if (inputs.size() == kMost) return;
    place.relative = of.relative;
    const double handed_on =
        of.relative > 0 ? inherited_error(operation, alone, alone_used, output) / of.relative : 0;
    place.relative = 0;
    inputs.push_back(
        {of.name, static_cast<float>(of.relative), static_cast<float>(handed_on), of.is_estimate});
  };
  for (size_t i = 0; i < given.size(); ++i) add(given[i], alone[i]);
  for (size_t i = 0; i < used.size(); ++i) add(used[i], alone_used[i]);
  return inputs;
}

}  // namespace

std::string Allowance::text() const {
  std::string out;
  if (account.basis == Account::Basis::made)
    out = fmt::format("{:.3g} of its own and {:.3g} of its inputs are expected", own, inherited);
  else if (account.basis == Account::Basis::known)
    out = "as where it was made";
  if (account.lacks_inputs) out += ", and not all of its inputs were compared: depth decides";
  return out;
}

bool Ledger::keeps(const Head& head, const NodeResult& node) {
  return head.question == Question::agreement && (is_of_calls(head) || is_in_model(node.place, node.sources));
}

bool Ledger::keeps_order(const Head& head, const Pairing& pairing) {
  if (head.question != Question::agreement) return false;
  return is_of_calls(head) || !pairing.sources.empty() ||
         std::ranges::any_of(pairing.nodes,
                             [](const PairedNode& node) { return is_in_model(node.place, {}); });
}

Ledger::Ledger(const Head& head)
    : names_calls_(is_of_calls(head)),
      error_column_(find_column(head, "rel_l2")),
      max_column_(find_column(head, "max_abs")),
      rms_column_(find_column(head, "golden_rms")) {}

void Ledger::begin(const NodeResult& node) {
  given_.clear();
  node_ = &node;
  is_looked_up_ = has_input_ = lacks_inputs_ = has_flipped_input_ = has_result_ = false;
  own_ = nullptr;
  used_ = nullptr;
}

// Most dumps have statistics alone: nothing is asked of their names.
void Ledger::look_up() {
  if (std::exchange(is_looked_up_, true)) return;
  if (!names_calls_) {
    operation_ = {node_->place.kind, node_->place.trait, false};
    is_composite_ = node_->place.is_fused;
    return;
  }
  const CallName name(node_->name);
  operation_ = {kind_of_entry(node_->name), trait_of_entry(node_->name), name.is_backward()};
  is_composite_ = is_module_entry(node_->name) &&
                  (operation_.kind == OpKind::unknown || operation_.kind == OpKind::attention);
  const std::string layer = forward_call_of_gradients(node_->name);
  const bool runs_forwards = !name.is_backward() && layer.empty();
  own_ = runs_forwards ? &forward_[name.key()] : nullptr;
  const auto found = forward_.find(layer.empty() ? name.key() : CallName(layer).key());
  used_ = !runs_forwards && found != forward_.end() ? &found->second : nullptr;
}

bool Ledger::is_asked(const Comparison& row) const {
  return row.basis == Basis::data && row.evidence != Evidence::extremes && row.mine.meta && row.golden.meta &&
         has_steps(kept_type(row));
}

std::optional<GivenError> Ledger::error_of(const Comparison& row) const {
  if (!is_asked(row)) return std::nullopt;
  GivenError error;
  error.relative = measured_at(row, error_column_);
  error.largest = measured_at(row, max_column_);
  error.rms = measured_at(row, rms_column_);
  if (!std::isfinite(error.relative) || !std::isfinite(error.largest) || !std::isfinite(error.rms))
    return std::nullopt;
  const std::vector<int64_t>& dims = row.golden.meta->shape.dims;
  error.count = static_cast<double>(row.golden.meta->shape.count());
  error.dtype = row.judged_as ? coarser(row.mine.meta->dtype, *row.judged_as) : row.mine.meta->dtype;
  error.dimensions = static_cast<int32_t>(dims.size());
  error.first_extent = dims.empty() ? 1 : static_cast<double>(dims[0]);
  for (size_t i = 0; i + 2 < dims.size(); ++i) error.batches *= static_cast<double>(dims[i]);
  error.name = row.mine.name;
  return error;
}

const Ledger::Value* Ledger::find(const GivenError& error) const {
  if (!(error.largest > 0)) return nullptr;
  const auto is_same = [&](int32_t at) {
    const GivenError& other = values_[static_cast<size_t>(at)].error;
    return is_same_number(other.relative, error.relative) && is_same_number(other.rms, error.rms);
  };
  // Two passes over one tensor may fall to either side of a boundary.
  for (const double relative : {error.relative * (1 - kSame), error.relative * (1 + kSame)}) {
    const auto found = by_error_.find(key_of(error, relative));
    if (found == by_error_.end()) continue;
    if (const auto same = std::ranges::find_if(found->second, is_same); same != found->second.end())
      return &values_[static_cast<size_t>(*same)];
  }
  return nullptr;
}

const Ledger::Value* Ledger::find_result(const InputSource& source) const {
  if (source.kind != InputSource::Kind::result) return nullptr;
  const auto found = by_result_.find(result_key(source.node, source.output));
  return found == by_result_.end() ? nullptr : &values_[static_cast<size_t>(found->second)];
}

const Ledger::Maker* Ledger::find_maker(const InputSource& source) const {
  if (source.kind != InputSource::Kind::result) return nullptr;
  const auto found = makers_.find(source.node);
  return found == makers_.end() ? nullptr : &found->second;
}

Allowance Ledger::of_given(const Comparison& row, const GivenError& error, const ModelPlace& place) const {
  const DType mine = row.mine.meta->dtype, golden = row.golden.meta->dtype;
  Allowance allowance;
  allowance.relative = relative_bound(mine, golden, place);
  allowance.account.basis = place.layers_before > 0 ? Account::Basis::depth : Account::Basis::type;
  if (names_calls_ && (direction_of(row) == Direction::input || is_composite_) &&
      allowance.relative < kUnseen * drift_) {
    allowance.relative = kUnseen * drift_;
    allowance.account.basis = Account::Basis::largest;
  }
  allowance.largest = kElements * allowance.relative * error.rms;
  allowance.ulps = ulps_allowed(mine, golden, place);
  return allowance;
}

Allowance Ledger::of_known(const Comparison& row, const Value& value, const ModelPlace& place) const {
  Allowance allowance;
  // It may have been written in another type.
  const double again = kMargin * own_error({OpKind::cast}, {}, value.error, kept_type(row));
  allowance.relative = std::max(value.relative, names_calls_ ? 0 : again);
  allowance.largest = std::max(value.largest, kElements * (names_calls_ ? 0 : again) * value.error.rms);
  allowance.ulps = ulps_allowed(row.mine.meta->dtype, row.golden.meta->dtype, place);
  allowance.account.basis = Account::Basis::known;
  allowance.account.from = value.error.name;
  return allowance;
}

Allowance Ledger::of_made(const Comparison& row, const GivenError& error, const Operation& operation,
                          const ModelPlace& place, std::span<const GivenError> given,
                          bool lacks_inputs) const {
  const DType mine = row.mine.meta->dtype, golden = row.golden.meta->dtype;
  // An operator that was given finer numbers is not excused by the type that its results were rounded to.
  const auto is_as_coarse = [&](const GivenError& input) {
    return is_real(input.dtype) && info(input.dtype).mantissa_bits <= info(*row.judged_as).mantissa_bits;
  };
  const bool is_rounded_here = names_calls_ && row.judged_as && std::ranges::none_of(given, is_as_coarse);
  const DType dtype = is_rounded_here ? deciding_dtype(mine, golden) : deciding_dtype_at(mine, golden, place);
  const std::span<const GivenError> used =
      used_ != nullptr ? std::span<const GivenError>(*used_) : std::span<const GivenError>();
  Allowance allowance;
  allowance.account.basis = Account::Basis::made;
  allowance.own = own_error(operation, given, error, dtype);
  // Both sides round where both are kept in 16 bits.
  if (info(golden).mantissa_bits <= info(DType::f16).mantissa_bits)
    allowance.own = std::hypot(allowance.own, own_error(operation, given, error, golden));
  if (place.is_compiled) allowance.own *= kCompiled;
  // What is in between was rounded too, or was not where the other side did.
  ModelPlace here = place;
  here.layers_before = 0;
  if (place.is_quantised || place.is_fused)
    allowance.own = std::max(allowance.own, relative_bound(mine, golden, here) / kMargin);
  allowance.inherited = inherited_error(operation, given, used, error);
  allowance.relative = margin_of(error) * std::hypot(allowance.own, allowance.inherited);
  allowance.account.inputs = inputs_in_account(operation, given, used, error);
  allowance.account.lacks_inputs = lacks_inputs;
  // Inputs that could only be estimated say less than the depth of the model.
  if (!names_calls_ && std::ranges::any_of(given, &GivenError::is_estimate))
    allowance.relative = std::min(allowance.relative, of_given(row, error, place).relative);
  // A module is as much as what it is made of; some of that may not have been dumped.
  if (lacks_inputs || (is_composite_ && names_calls_))
    allowance.relative = std::max(allowance.relative, of_given(row, error, place).relative);
  if (place.is_quantised) allowance.relative = std::min(allowance.relative, kQuantisedMost);
  allowance.largest =
      std::max(kElements * allowance.relative * error.rms,
               inherited_element(operation, given, error) + kElements * allowance.own * error.rms);
  // Steps were counted in the type that it was rounded to. Where single calls were recorded each rounds once.
  const bool rounds_once = names_calls_ && dtype != DType::f32 && dtype != DType::f64;
  allowance.ulps = is_rounded_here ? 0 : rounds_once ? 1 : ulps_allowed(mine, golden, place);
  return allowance;
}

// Both gradients of a layer are sums over all rows: of what came from above, and of that times what the layer
// was given. Where the first cancels, as in front of a softmax or of a norm, its error is still that of its
// terms, which the second tells: errors as they are, not measured in what is left of the sum.
std::optional<Allowance> Ledger::of_bias_gradient(const Comparison& row, const GivenError& error,
                                                  const ModelPlace& place) const {
  const bool is_layer = operation_.kind == OpKind::product || is_norm(operation_.kind);
  if (!names_calls_ || !is_layer || error.dimensions != 1 || !(error.rms > 0) || used_ == nullptr ||
      used_->empty())
    return std::nullopt;
  // A norm multiplies by numbers of size 1.
  const double given = is_norm(operation_.kind) ? 1 : used_->front().rms;
  if (!(given > 0)) return std::nullopt;
  for (const Comparison& other : node_->rows) {
    const auto beside = &other == &row || other.status != Status::compared ? std::nullopt : error_of(other);
    if (!beside || direction_of(other) != Direction::parameter_gradient) continue;
    if (!is_norm(operation_.kind) && beside->dimensions < 2) continue;
    Allowance allowance = of_given(row, error, place);
    // No more than is allowed there: a fault in one is no excuse for the other.
    const double most = of_given(other, *beside, place).relative / kMargin;
    const double sums = std::min(beside->relative, most) * beside->rms / given / error.rms;
    if (margin_of(error) * sums <= allowance.relative) return std::nullopt;
    allowance.account.basis = Account::Basis::made;
    allowance.inherited = sums;
    allowance.relative = margin_of(error) * sums;
    allowance.largest = kElements * allowance.relative * error.rms;
    return allowance;
  }
  return std::nullopt;
}

std::optional<Allowance> Ledger::of_row(const Comparison& row, const ModelPlace& place) {
  const auto error = error_of(row);
  if (!error) return std::nullopt;
  look_up();
  const Direction direction = direction_of(row);
  if (!names_calls_ && direction != Direction::input && direction != Direction::output) return std::nullopt;
  if (direction == Direction::input)
    if (const InputSource* const source = find_source(node_->sources, port_of(row))) {
      if (const Value* const value = find_result(*source)) return of_known(row, *value, place);
      if (const Maker* const maker = row.pair.is_constant ? nullptr : find_maker(*source);
          maker != nullptr && !maker->given.empty())
        return of_made(row, *error, maker->operation, place, maker->given, maker->lacks_inputs);
    }
  if (const Value* const value = find(*error)) return of_known(row, *value, place);
  if (row.pair.is_constant) return std::nullopt;
  if (direction == Direction::output && (has_input_ || (names_calls_ && !given_.empty())) &&
      !node_->place.is_group)
    return of_made(row, *error, operation_, place, given_, lacks_inputs_);
  if (direction == Direction::parameter_gradient)
    if (auto allowance = of_bias_gradient(row, *error, place)) return allowance;
  if (names_calls_) return of_given(row, *error, place);
  return std::nullopt;
}

void Ledger::enter(const Comparison& row, const std::optional<Allowance>& allowance,
                   const ModelPlace& place) {
  auto error = error_of(row);
  const Direction direction = direction_of(row);
  if (row.verdict.is_flip) flip_ = row.mine.name;
  if (row.verdict.is_flip || row.verdict.follows_flip)
    if (const auto key = choice_key(row)) flipped_.insert(*key);
  if (direction == Direction::input && row.verdict.follows_flip) has_flipped_input_ = true;
  if (direction == Direction::output && row.status == Status::compared) has_result_ = true;
  if (!error) return;
  look_up();
  const bool has_failed = row.verdict.level == Level::fail;
  Allowance bound = allowance ? *allowance : of_given(row, *error, place);
  if (row.verdict.follows_flip) {
    bound.relative = std::max(bound.relative, error->relative);
    bound.largest = std::max(bound.largest, error->largest);
  }
  GivenError handed_on = *error;
  if (has_failed) {
    // As much as was expected: what is allowed beyond that would double with every operator behind it.
    handed_on.relative = std::min(error->relative, bound.relative / kMargin);
    handed_on.largest = std::min(error->largest, bound.largest / kMargin);
  } else if (direction != Direction::parameter && !row.verdict.follows_flip) {
    drift_ = std::max(drift_, error->relative);
  }
  // What a group gives is entered where it was made.
  if (!node_->place.is_group) {
    const auto at = static_cast<int32_t>(values_.size());
    bool is_new = false;
    if (error->largest > 0 && find(*error) == nullptr)
      if (auto& alike = by_error_[key_of(*error, error->relative)]; alike.size() < kMostAlike) {
        alike.push_back(at);
        is_new = true;
      }
    if (!node_->sources.empty() || node_->place.has_graph) {
      if (direction == Direction::output) {
        by_result_.insert_or_assign(result_key(node_->index, port_of(row)), at);
        is_new = true;
      } else if (const InputSource* const source = find_source(node_->sources, port_of(row));
                 direction == Direction::input && source != nullptr &&
                 source->kind == InputSource::Kind::result && find_result(*source) == nullptr) {
        // The first to be given what its own operator has no row of.
        by_result_.emplace(result_key(source->node, source->output), at);
        is_new = true;
      }
    }
    if (is_new) values_.push_back({*error, bound.relative, bound.largest, handed_on});
  }
  if (direction != Direction::output) given_.push_back(handed_on);
  has_input_ |= direction == Direction::input;
  if (own_ != nullptr) own_->push_back(handed_on);
}

// What was not dumped as an input is known by the result that it is.
void Ledger::end_of_inputs() {
  if (node_->place.is_group) return;
  const auto row_of = [&](int32_t port) {
    return std::ranges::find_if(node_->rows, [&](const Comparison& row) {
      return direction_of(row) == Direction::input && row.mine.item != nullptr &&
             row.mine.item->port.index == port;
    });
  };
  const auto is_real_and_unseen = [&](const Comparison& row) {
    if (row.status == Status::compared && row.verdict.level != Level::ignored) return false;
    return row.mine.item == nullptr || row.mine.item->meta == nullptr || is_real(row.mine.item->meta->dtype);
  };
  for (const InputSource& source : node_->sources) {
    const auto row = row_of(source.port);
    if (row != node_->rows.end() && !is_real_and_unseen(*row)) continue;
    if (const Value* const value = find_result(source)) {
      given_.push_back(value->handed_on);
      has_input_ = true;
    } else if (const Maker* const maker = find_maker(source);
               maker != nullptr && !maker->lacks_inputs && !maker->given.empty()) {
      given_.push_back(maker->estimate);
      has_input_ = true;
    } else if (source.kind != InputSource::Kind::given) {
      lacks_inputs_ = true;
    }
  }
}

void Ledger::end() {
  if (has_result_ || node_->place.is_group || node_->sources.empty()) return;
  look_up();
  Maker maker{operation_, node_->place, given_, lacks_inputs_, {}};
  // Nothing is known of its size: as large as the largest of what it was made of.
  for (const GivenError& input : given_)
    if (input.norm() > maker.estimate.norm()) maker.estimate = input;
  if (!given_.empty()) {
    GivenError& estimate = maker.estimate;
    const DType dtype = deciding_dtype_at(estimate.dtype, estimate.dtype, node_->place);
    estimate.relative =
        std::hypot(own_error(operation_, given_, estimate, dtype), estimate_without_size(operation_, given_));
    estimate.largest = 0;
    estimate.is_estimate = true;
    estimate.name = node_->name;
  }
  makers_.insert_or_assign(node_->index, std::move(maker));
}

double Ledger::sum_of_inputs() const {
  if (given_.empty() || node_->place.is_group) return std::numeric_limits<double>::infinity();
  double sum = 0;
  for (const GivenError& input : given_) sum += input.relative;
  return sum;
}

std::optional<uint64_t> Ledger::choice_key(const Comparison& row) const {
  if (!row.mine.meta || !row.golden.meta) return std::nullopt;
  if (is_real(row.mine.meta->dtype) || is_real(row.golden.meta->dtype)) return std::nullopt;
  if (row.basis == Basis::stated && row.evidence == Evidence::statistics) return key_of_statistics(row);
  if (row.basis != Basis::data) return std::nullopt;
  uint64_t key = static_cast<uint64_t>(row.mine.meta->shape.count());
  for (const int column : {error_column_, max_column_, rms_column_}) {
    if (column < 0 || column >= std::ssize(row.metrics)) return std::nullopt;
    const auto number = number_in(row.metrics[static_cast<size_t>(column)]);
    key = key * 0x9E3779B97F4A7C15 + (number ? std::bit_cast<uint64_t>(*number) : 0);
  }
  return key;
}

// NaN is nobody's choice. Whole numbers of which nothing says that they come from the flip are a fault of
// their own.
std::string_view Ledger::flip_behind(const Comparison& row) const {
  if (flip_.empty() || row.verdict.level != Level::fail || row.verdict.is_flip) return {};
  if (row.is_nonfinite_apart) return {};
  const bool is_misshapen = row.status == Status::shape_mismatch;
  if (!is_misshapen && row.status != Status::compared) return {};
  // Which rows an expert was given, which elements were taken.
  const auto key = choice_key(row);
  const bool is_choice = key && flipped_.contains(*key);
  const bool is_input = direction_of(row) == Direction::input;
  return is_misshapen || (is_input ? is_choice : has_flipped_input_) ? flip_ : std::string_view();
}

}  // namespace assay

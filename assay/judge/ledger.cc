#include "assay/judge/ledger.h"

#include "assay/judge/call_name.h"
#include "assay/judge/native_defaults.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <utility>

namespace assay {
namespace {

// Errors are allowed this many times over: what is expected of them is a typical size, no bound.
constexpr double kMargin = 2;
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

}  // namespace

std::string Allowance::text() const {
  switch (source) {
    case Source::made:
      return fmt::format("{:.3g} of its own and {:.3g} of its inputs are expected", own, inherited);
    case Source::known:
      return "as where it was made";
    case Source::given:
      break;
  }
  return {};
}

bool Ledger::serves(const Head& head) {
  return head.mine_layout == "msprobe" && head.golden_layout == "msprobe" &&
         head.question == Question::agreement;
}

Ledger::Ledger(const Head& head)
    : error_column_(find_column(head, "rel_l2")),
      max_column_(find_column(head, "max_abs")),
      rms_column_(find_column(head, "golden_rms")) {}

void Ledger::begin(const NodeResult& node) {
  given_.clear();
  name_ = node.name;
  is_looked_up_ = false;
}

// Most dumps have statistics alone: nothing is asked of their names.
void Ledger::look_up() {
  if (std::exchange(is_looked_up_, true)) return;
  const CallName name(name_);
  operation_ = {kind_of_entry(name_), trait_of_entry(name_), name.is_backward()};
  is_composite_ =
      is_module_entry(name_) && (operation_.kind == OpKind::unknown || operation_.kind == OpKind::attention);
  own_ = name.is_backward() ? nullptr : &forward_[name.key()];
  const auto found = forward_.find(name.key());
  used_ = name.is_backward() && found != forward_.end() ? &found->second : nullptr;
}

std::optional<GivenError> Ledger::error_of(const Comparison& row) const {
  if (row.basis != Basis::data || !row.mine.meta || !row.golden.meta || !has_steps(kept_type(row)))
    return std::nullopt;
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
  return error;
}

const Ledger::Value* Ledger::find(const GivenError& error) const {
  const auto is_same = [&](const Value& value) {
    return is_same_number(value.error.relative, error.relative) && is_same_number(value.error.rms, error.rms);
  };
  // Two passes over one tensor may fall to either side of a boundary.
  for (const double relative : {error.relative * (1 - kSame), error.relative * (1 + kSame)}) {
    const auto found = values_.find(key_of(error, relative));
    if (found == values_.end()) continue;
    if (const auto same = std::ranges::find_if(found->second, is_same); same != found->second.end())
      return &*same;
  }
  return nullptr;
}

Allowance Ledger::of_given(const Comparison& row, const GivenError& error) const {
  const DType dtype = kept_type(row);
  Allowance allowance;
  allowance.relative = relative_bound(dtype, dtype, {});
  if (direction_of(row) == Direction::input || is_composite_)
    allowance.relative = std::max(allowance.relative, kUnseen * drift_);
  allowance.largest = kElements * allowance.relative * error.rms;
  allowance.ulps = ulps_allowed(dtype, dtype, {});
  return allowance;
}

Allowance Ledger::of_output(const Comparison& row, const GivenError& error) const {
  // An operator that was given finer numbers is not excused by the type that its results were rounded to.
  const auto is_as_coarse = [&](const GivenError& input) {
    return is_real(input.dtype) && info(input.dtype).mantissa_bits <= info(*row.judged_as).mantissa_bits;
  };
  const bool is_rounded_here = row.judged_as && std::ranges::none_of(given_, is_as_coarse);
  const DType dtype =
      is_rounded_here ? deciding_dtype(row.mine.meta->dtype, row.golden.meta->dtype) : kept_type(row);
  const std::span<const GivenError> used =
      used_ != nullptr ? std::span<const GivenError>(*used_) : std::span<const GivenError>();
  Allowance allowance;
  allowance.source = Allowance::Source::made;
  allowance.own = own_error(operation_, given_, error, dtype);
  allowance.inherited = inherited_error(operation_, given_, used, error);
  allowance.relative = kMargin * std::hypot(allowance.own, allowance.inherited);
  // A module is as much as what it is made of; some of that may not have been dumped.
  if (is_composite_) allowance.relative = std::max(allowance.relative, of_given(row, error).relative);
  allowance.largest =
      std::max(kElements * allowance.relative * error.rms,
               inherited_element(operation_, given_, error) + kElements * allowance.own * error.rms);
  // Steps were counted in the type that it was rounded to.
  allowance.ulps = is_rounded_here                              ? 0
                   : dtype == DType::f32 || dtype == DType::f64 ? ulps_allowed(dtype, dtype, {})
                                                                : 1;
  return allowance;
}

std::optional<Allowance> Ledger::of_row(const Comparison& row) {
  const auto error = error_of(row);
  if (!error) return std::nullopt;
  look_up();
  if (const Value* const value = error->largest > 0 ? find(*error) : nullptr) {
    Allowance allowance = of_given(row, *error);
    allowance.relative = value->relative;
    allowance.largest = value->largest;
    allowance.source = Allowance::Source::known;
    return allowance;
  }
  if (direction_of(row) == Direction::output && !given_.empty()) return of_output(row, *error);
  return of_given(row, *error);
}

void Ledger::enter(const Comparison& row, const std::optional<Allowance>& allowance) {
  auto error = error_of(row);
  if (!error || !allowance) return;
  const bool has_failed = row.verdict.level == Level::fail;
  const Direction direction = direction_of(row);
  if (error->largest > 0 && find(*error) == nullptr)
    if (auto& alike = values_[key_of(*error, error->relative)]; alike.size() < kMostAlike)
      alike.push_back({*error, allowance->relative, allowance->largest});
  if (has_failed) {
    error->relative = std::min(error->relative, allowance->relative);
    error->largest = std::min(error->largest, allowance->largest);
  } else if (direction != Direction::parameter) {
    drift_ = std::max(drift_, error->relative);
  }
  if (direction != Direction::output) given_.push_back(*error);
  if (own_ != nullptr) own_->push_back(*error);
}

}  // namespace assay

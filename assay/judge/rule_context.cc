// What rules read: the numbers of a row under the names that rules use.
#include "assay/judge/rule_context.h"

#include <algorithm>
#include <array>
#include <cmath>

namespace assay {
namespace {

constexpr std::array<std::string_view, 4> kNonfiniteCounts = {"mine_nan", "golden_nan", "mine_inf",
                                                              "golden_inf"};

void add_names(const Expression& expression, std::vector<std::string>& columns) {
  for (const std::string& name : expression.names()) {
    const std::string_view column = name == "inherited" ? kErrorColumn : name;
    if (!is_rule_variable(column) && std::find(columns.begin(), columns.end(), column) == columns.end())
      columns.emplace_back(column);
  }
}

}  // namespace

std::optional<double> number_in(const Value& value) {
  if (const auto* real = std::get_if<double>(&value)) return *real;
  if (const auto* integer = std::get_if<int64_t>(&value)) return static_cast<double>(*integer);
  if (const auto* truth = std::get_if<bool>(&value)) return *truth ? 1 : 0;
  return std::nullopt;
}

std::optional<double> RowContext::value(std::string_view name) const {
  if (name == "eps") return is_real(dtype) ? std::ldexp(1.0, -info(dtype).mantissa_bits) : 0;
  if (name == "layer") return layers_before;
  if (name == "inherited") return inherited;
  if (name == "noise" || name == "noise_max") {
    if (noise == nullptr) return std::nullopt;
    return name == "noise" ? noise->rel_l2 : noise->max_abs;
  }
  // For the default rules only, which see to it that what they need is measured.
  if (allowance != nullptr && name == "allowed") return allowance->relative;
  if (allowance != nullptr && name == "allowed_max") return allowance->largest;
  if (allowance != nullptr && name == "allowed_ulps") return allowance->ulps;
  if (name == "count") return static_cast<double>(row.golden.meta->shape.count());
  const int column = find_column(head, name);
  if (column < 0 || static_cast<size_t>(column) >= row.metrics.size()) return std::nullopt;
  const auto found = number_in(row.metrics[static_cast<size_t>(column)]);
  // A statistic that NaN or infinities have made one of them says nothing of the rest.
  if (found && row.basis == Basis::stated && !std::isfinite(*found)) return std::nullopt;
  return found;
}

std::optional<double> RowContext::look(const void* context, std::string_view name) {
  return static_cast<const RowContext*>(context)->value(name);
}

bool is_rule_variable(std::string_view name) {
  return name == "eps" || name == "count" || name == "layer" || name == "inherited" || name == "noise" ||
         name == "noise_max";
}

Decides decides_on(const Expression& rule) {
  Decides decides;
  for (const std::string& name : rule.names()) {
    const bool is_both = name == kMismatchColumn || name == "nonfinite_kind_mismatch";
    decides.on_nan |= is_both || name == "mine_nan" || name == "golden_nan";
    decides.on_inf |= is_both || name == "mine_inf" || name == "golden_inf";
  }
  return decides;
}

std::vector<std::string> columns_needed(const RuleOptions& options) {
  std::vector<std::string> columns;
  for (const Rule& rule : options.rules)
    if (rule.expression) add_names(*rule.expression, columns);
  const auto add = [&](std::string_view column) {
    if (std::ranges::find(columns, column) == columns.end()) columns.emplace_back(column);
  };
  if (!options.rules.empty()) add(kMismatchColumn);
  for (const Rule& rule : options.rules)
    if (rule.expression)
      if (const Decides decides = decides_on(*rule.expression); decides.on_nan != decides.on_inf)
        std::ranges::for_each(kNonfiniteCounts, add);
  if (options.noise != nullptr)
    for (const std::string_view column : {kErrorColumn, std::string_view("max_abs"), kMismatchColumn})
      add(column);
  const auto takes_all = [](const Rule& rule) { return rule.pattern == "*"; };
  if (std::any_of(options.rules.begin(), options.rules.end(), takes_all)) return columns;
  for (const std::string_view column :
       {kRestColumn, std::string_view("mine_norm"), std::string_view("golden_norm"),
        std::string_view("golden_min"), std::string_view("golden_max")})
    add(column);
  for (int i = 0; i < kDTypeCount; ++i)
    add_names(default_rule(static_cast<DType>(i), static_cast<DType>(i), {}), columns);
  return columns;
}

}  // namespace assay

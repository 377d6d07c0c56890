#include "assay/compat/msit/logits_rules.h"

#include "assay/compat/msprobe/row.h"

#include <algorithm>
#include <cmath>

namespace assay {
namespace {

constexpr std::string_view kOtherShape = "data shape doesn't match.";
constexpr std::string_view kGoldenNotFinite = "golden_data includes NAN or inf.";
constexpr std::string_view kMineNotFinite = "my_data includes NAN or inf.";

// Leading dimensions of one are a batch of one, and a sequence of one.
Shape without_batch(Shape shape) {
  const auto first = std::ranges::find_if(shape.dims, [](int64_t dim) { return dim != 1; });
  shape.dims.erase(shape.dims.begin(), first);
  return shape;
}

bool is_nonfinite(const Value& extreme) {
  const auto* number = std::get_if<double>(&extreme);
  return number != nullptr && !std::isfinite(*number);
}

bool is_nonfinite(const SideFacts& side) {
  return side.measured && (is_nonfinite(side.measured->max) || is_nonfinite(side.measured->min));
}

void append(std::string& text, std::string_view more) {
  if (!text.empty()) text += ' ';
  text += more;
}

class LogitsRules {
 public:
  LogitsRules(const Head& head, const LogitsLimits& limits) : columns_(head), limits_(limits) {}

  Verdict judge(Comparison& row) const {
    if (!row.pair.mine) return {Level::fail, "only_in_golden_path"};
    if (!row.pair.golden) return {Level::fail, "only_in_my_path"};
    if (row.status == Status::unreadable || row.status == Status::no_data) return {Level::error, row.note};
    if (std::string why = why_not_compared(row); !why.empty()) {
      row.evidence = Evidence::nothing;
      return {Level::fail, std::move(why)};
    }
    return measured(row);
  }

 private:
  std::string why_not_compared(const Comparison& row) const {
    const Shape &mine = row.mine.meta->shape, &golden = row.golden.meta->shape;
    std::string why;
    if (without_batch(mine) != without_batch(golden)) append(why, kOtherShape);
    const bool is_measured = row.basis == Basis::data;
    const auto counts = [&](int nans, int infs) {
      return metric(row, nans).value_or(0) + metric(row, infs).value_or(0) > 0;
    };
    if (is_measured ? counts(columns_.golden_nan, columns_.golden_inf) : is_nonfinite(row.golden))
      append(why, kGoldenNotFinite);
    if (is_measured ? counts(columns_.mine_nan, columns_.mine_inf) : is_nonfinite(row.mine))
      append(why, kMineNotFinite);
    if (!why.empty()) return why;
    if (mine.count() == 0) return "both tensors are empty.";
    if (!is_measured) return "only statistics were dumped.";
    if (metric(row, columns_.mine_max) == 0.0) return "max value is 0, cannot compute ulp";
    return {};
  }

  Verdict measured(const Comparison& row) const {
    const double cosine = metric(row, columns_.cosine).value_or(0), kl = metric(row, columns_.kl).value_or(0);
    const double l1 = metric(row, columns_.l1).value_or(0);
    Verdict verdict;
    verdict.word = "True";
    if (cosine > limits_.cosine && kl < limits_.kl && l1 < limits_.l1) return verdict;
    const double distance = distance_of_maxima(row, columns_);
    const double ulp = ulp_of_maximum(row, columns_, limits_.dtype);
    if (distance <= ulp) return verdict;
    verdict.word = "False";
    verdict.level = Level::fail;
    verdict.reason = fmt::format("the largest logits are {} apart, more than one ULP ({})", distance, ulp);
    const auto add = [&](bool holds, std::string text) {
      if (!holds) verdict.reason += ", and " + text;
    };
    add(cosine > limits_.cosine, fmt::format("cosine {} <= {}", cosine, limits_.cosine));
    add(kl < limits_.kl, fmt::format("kl {} >= {}", kl, limits_.kl));
    add(l1 < limits_.l1, fmt::format("l1 {} >= {}", l1, limits_.l1));
    return verdict;
  }

  const LogitsColumns columns_;
  const LogitsLimits limits_;
};

}  // namespace

RuleSet logitscmp_rules(const LogitsLimits& limits) {
  return {"logitscmp", [limits](const Head& head, const RuleOptions&) -> Judge {
            return [rules = LogitsRules(head, limits)](NodeResult& node) {
              for (Comparison& row : node.rows) row.verdict = rules.judge(row);
            };
          }};
}

}  // namespace assay

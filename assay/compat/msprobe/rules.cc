// Generations 1 and 2, which differ in texts and in a few thresholds.
#include "assay/compat/msprobe/rules.h"

#include "assay/base/text.h"
#include "assay/compat/msprobe/highlight.h"
#include "assay/compat/msprobe/metric/pandas_number.h"
#include "assay/compat/msprobe/row.h"
#include "assay/compat/msprobe/rules_tensor.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace assay {
namespace {

constexpr std::string_view kNoGolden = "No bench data matched.";
constexpr std::string_view kGradDiffers = "Requires_grad inconsistent. ";

// bf16 is widened when msprobe loads it, so it never differs from f32.
DType loaded(DType dtype) { return dtype == DType::bf16 ? DType::f32 : dtype; }

bool dtypes_differ(const Comparison& row) {
  return loaded(row.mine.meta->dtype) != loaded(row.golden.meta->dtype);
}

std::string read_failure(const Comparison& row, Generation generation) {
  const std::string_view mine = stated_of(row.mine).data_name, golden = stated_of(row.golden).data_name;
  if (generation == Generation::g1) return fmt::format("Dump file: {} not found.", mine);
  return fmt::format("Dump file: ['{}', '{}'] not found or read failed.", mine, golden);
}

class TensorRules {
 public:
  TensorRules(const Head& head, Generation generation, const MsprobeRuleStyle& style)
      : columns_(head, generation), style_(style), generation_(generation), as_python_(style.as_python) {}

  void judge(Comparison& row) const {
    row.verdict = verdict_of(row);
    if (tensor_case(row, columns_, generation_) == TensorCase::only_statistics)
      row.evidence = Evidence::nothing;
  }

 private:
  Verdict verdict_of(const Comparison& row) const {
    Verdict verdict = measured(row);
    std::string message(row.golden.item == nullptr ? kNoGolden : "");
    // Generation 2 puts one text in place of the other.
    if (generation_ == Generation::g2 && !grad_consistent(row)) message = kGradDiffers;
    if (generation_ == Generation::g1) message.clear();
    verdict.reason = message + verdict.reason;
    const bool names_differ = row.golden.item != nullptr && row.mine.name != row.golden.name;
    if (names_differ && (style_.fuzzy || generation_ == Generation::g1))
      verdict.reason += " Fuzzy matching data, the comparison accuracy may be affected.";
    return verdict;
  }

  Verdict measured(const Comparison& row) const {
    const bool g1 = generation_ == Generation::g1;
    const auto without = [](Level level, std::string_view word, std::string_view cells, std::string message) {
      return Verdict{level, std::move(message), word, cells, Paint::none};
    };
    switch (tensor_case(row, columns_, generation_)) {
      case TensorCase::no_mine_file:
        return without(Level::ignored, "None", "unsupported",
                       g1 ? std::string(kNoGolden) : "NPU does not have data file.");
      case TensorCase::no_golden_file:
        return without(Level::ignored, "None", "unsupported", "Bench does not have data file.");
      case TensorCase::unmatched:
        return without(Level::fail, "None", "unsupported",
                       as_python_ ? std::string(kNoGolden)
                       : g1       ? "Bench does not have data file."
                                  : "Bench api/module unmatched.");
      case TensorCase::unreadable:
        return without(Level::error, "None", "unsupported", read_failure(row, generation_));
      case TensorCase::only_statistics:
        return without(Level::ignored, "None", "unsupported", std::string(kOnlyStatistics));
      case TensorCase::empty:
        return without(Level::ignored, "None", "unsupported", "This is empty data, can not compare.");
      case TensorCase::other_shape:
        return without(
            Level::fail, "Unmatched", "shape unmatched",
            fmt::format("Shape of NPU and bench {} do not match. Skipped.", g1 ? "Tensor" : "tensor"));
      case TensorCase::other_nonfinite:
        return without(Level::fail, "No", "N/A",
                       "The position of inf or nan in NPU and bench Tensor do not match.");
      case TensorCase::scalar:
        return without(
            Level::ignored, "None", "",
            (g1 ? "This is type of scalar data, can not compare."
                : "This is type of 0-d tensor, can not calculate 'Cosine', 'EucDist', 'One Thousandth Err "
                  "Ratio' and 'Five Thousandths Err Ratio'. ") +
                remarks(row, columns_, generation_, true));
      case TensorCase::measured:
        break;
    }
    Verdict verdict = judge_measured(row, columns_, generation_);
    if (!g1 && dtypes_differ(row))
      verdict.reason = "Dtype of NPU and bench tensor do not match." + verdict.reason;
    return verdict;
  }

  const MsprobeColumns columns_;
  const MsprobeRuleStyle style_;
  const Generation generation_;
  const bool as_python_;
};

class StatisticsRules {
 public:
  StatisticsRules(Generation generation, bool as_python) : generation_(generation), as_python_(as_python) {}

  Verdict judge(const Comparison& row) const {
    Verdict verdict;
    if (row.golden.item == nullptr) {
      verdict = {Level::fail, std::string(kNoGolden), "N/A"};
    } else if (suspicious(row)) {
      const bool g1 = generation_ == Generation::g1;
      verdict = {Level::fail, g1 ? "Need double check api accuracy." : "Need double check api accuracy. ",
                 "Warning"};
    }
    if (generation_ == Generation::g2 && !grad_consistent(row)) verdict.reason += kGradDiffers;
    return verdict;
  }

 private:
  // Relative to the larger of the two, signed as in the original: -1 against -2 is 100 % apart.
  bool far_apart(const Scalar& mine, const Scalar& golden) const {
    if (as_python_ && !(is_python_number(mine) && is_python_number(golden))) return false;
    const auto read = as_python_ ? number_of : pandas_number;
    const auto n = read(mine), b = read(golden);
    if (!n || !b || std::isnan(*n) || std::isnan(*b)) return false;
    const double larger = as_python_ ? std::max(std::abs(*n), std::abs(*b)) : std::abs(std::max(*n, *b));
    const double apart = std::abs(*n - *b);
    return (as_python_ ? apart : read_by_pandas(apart)) / (larger + 1e-10) > 0.5;
  }

  bool suspicious(const Comparison& row) const {
    const Stated &m = stated_of(row.mine), &g = stated_of(row.golden);
    const bool far[] = {far_apart(m.max, g.max), far_apart(m.min, g.min), far_apart(m.mean, g.mean),
                        far_apart(m.norm, g.norm)};
    // Generation 1 warns for MindSpore only where all four agree that something is wrong.
    const bool all_needed = generation_ == Generation::g1 && !as_python_;
    return all_needed ? std::all_of(std::begin(far), std::end(far), [](bool f) { return f; })
                      : std::any_of(std::begin(far), std::end(far), [](bool f) { return f; });
  }

  const Generation generation_;
  const bool as_python_;
};

Verdict judge_checksums(const Comparison& row, bool as_python) {
  if (as_python && row.golden.item == nullptr) return {Level::fail, std::string(kNoGolden), "N/A"};
  if (without_checksums(row)) return {Level::ignored, "Neither dump has a CRC-32 value of it.", "N/A"};
  // None has no checksum on either side, and nothing to compare it with counts as none too.
  if (printed_checksum(row.mine) == printed_checksum(row.golden)) return {Level::pass, {}, "pass"};
  if (row.golden.item == nullptr) return {Level::fail, std::string(kNoGolden), "N/A"};
  return {Level::fail, {}, "Different"};
}

// The words are the original's; what other reports make of the row is not.
void mark_unmatched(NodeResult& node, Level level) {
  for (Comparison& row : node.rows)
    if (row.mine.item == nullptr || row.golden.item == nullptr) row.verdict.level = level;
}

Judge prepare(const Head& head, Generation generation, const MsprobeRuleStyle& style) {
  const MsprobeHighlight highlight(head, generation, style.as_python);
  const bool paints = style.highlight && head.at.part.find("debug") == std::string::npos;
  if (head.content == Content::checksums)
    return [level = unmatched_level(head), as_python = style.as_python](NodeResult& node) {
      for (Comparison& row : node.rows) row.verdict = judge_checksums(row, as_python);
      mark_unmatched(node, level);
    };
  if (head.content == Content::statistics)
    return [rules = StatisticsRules(generation, style.as_python), highlight, paints,
            level = unmatched_level(head)](NodeResult& node) {
      for (Comparison& row : node.rows) row.verdict = rules.judge(row);
      mark_unmatched(node, level);
      if (paints) highlight.paint(node);
    };
  return [rules = TensorRules(head, generation, style), highlight, paints,
          level = unmatched_level(head)](NodeResult& node) {
    for (Comparison& row : node.rows) rules.judge(row);
    mark_unmatched(node, level);
    if (paints) highlight.paint(node);
  };
}

}  // namespace

RuleSet msprobe_rules(Generation generation, const MsprobeRuleStyle& style) {
  if (generation == Generation::g3)
    return {"msprobe_g3", [consistent = style.consistent](const Head& head, const RuleOptions&) {
              return prepare_msprobe_g3(head, consistent);
            }};
  const std::string_view name = generation == Generation::g2 ? "msprobe_g2"
                                : style.as_python            ? "msprobe_g1_python"
                                                             : "msprobe_g1";
  return {name, [generation, style](const Head& head, const RuleOptions&) {
            return prepare(head, generation, style);
          }};
}

}  // namespace assay

// Kernel dumps of MindSpore. A row has a word only where it has numbers; every message ends its line.
#include "assay/base/text.h"
#include "assay/compat/msprobe/row.h"
#include "assay/compat/msprobe/rules.h"
#include "assay/compat/msprobe/rules_tensor.h"

#include <algorithm>
#include <cmath>

namespace assay {
namespace {

constexpr std::string_view kScalar = "This is type of scalar data, can not compare.\n";
constexpr std::string_view kNoMaximum = "The maximum is not in statistic.csv, can not compare.\n";
constexpr std::string_view kOtherDtype = "Dtype of NPU and bench Tensor do not match. Skipped.\n";

Generation measured_generation(const Head& head) {
  if (find_column(head, "max_rel_g3") >= 0) return Generation::g3;
  return find_column(head, "max_rel_kernel_g1") >= 0 ? Generation::g1 : Generation::g2;
}

Verdict without_word(Level level, std::string message) {
  Verdict verdict;
  verdict.level = level;
  verdict.reason = std::move(message);
  return verdict;
}

// Signed, as in the original: where mine is far below golden, nothing is wrong. Only generation 1 takes the
// size of the difference.
bool maximum_is_near(const Scalar& mine, const Scalar& golden, Generation generation) {
  const double n = number_of(in_f32(mine)).value_or(std::nan(""));
  const double b = number_of(in_f32(golden)).value_or(std::nan(""));
  if (std::isnan(n) && std::isnan(b)) return true;
  const double signed_difference = double{static_cast<float>(n - b)};
  const double difference = generation == Generation::g1 ? std::abs(signed_difference) : signed_difference;
  const double larger = b > n ? b : n;
  return difference / (larger + 1e-10) <= 0.5;
}

Verdict judge_statistics(const Comparison& row, Generation generation) {
  if (row.status == Status::unreadable) return without_word(Level::error, row.note + "\n");
  const Stated &mine = stated_of(row.mine), &golden = stated_of(row.golden);
  const bool has_mine = row.mine.item != nullptr, has_golden = row.golden.item != nullptr;
  std::string message;
  bool differs = true;
  if ((has_mine && mine.shape.empty()) || (has_golden && golden.shape.empty())) {
    message += kScalar;
    differs = mine.dtype != golden.dtype;
  } else if (mine.shape != golden.shape) {
    message += "Tensor shapes do not match.\n";
  }
  if (mine.dtype != golden.dtype) message += kOtherDtype;
  if (!message.empty()) return without_word(differs ? Level::fail : Level::ignored, std::move(message));
  // The original takes two maxima that nobody wrote down for equal ones.
  if (mine.max.is_absent() || golden.max.is_absent())
    return Verdict{Level::error, std::string(kNoMaximum), "None"};
  Verdict verdict;
  verdict.word = maximum_is_near(mine.max, golden.max, generation) ? "Yes" : "No";
  verdict.level = verdict.word == "No" ? Level::fail : Level::pass;
  return verdict;
}

class TensorRules {
 public:
  explicit TensorRules(const Head& head)
      : generation_(measured_generation(head)), columns_(head, generation_) {}

  void judge(Comparison& row) const {
    if (is_row_of_table(row.mine) && is_row_of_table(row.golden)) {
      row.verdict = judge_statistics(row, generation_);
      return;
    }
    row.verdict = verdict_of(row);
    if (row.basis == Basis::stated) row.evidence = Evidence::nothing;
  }

 private:
  Verdict verdict_of(const Comparison& row) const {
    if (!is_array(row.mine) || !is_array(row.golden))
      return without_word(row.status == Status::unreadable ? Level::error : Level::fail,
                          "Dump file is not ndarray.\n");
    const TensorMeta &mine = *row.mine.meta, &golden = *row.golden.meta;
    if (mine.shape.count() == 0 || golden.shape.count() == 0)
      return without_word(Level::ignored, "This is empty data, can not compare.\n");
    std::string message;
    if (mine.shape.dims.empty() || golden.shape.dims.empty()) message += kScalar;
    const bool fits = mine == golden;
    if (mine.shape != golden.shape) message += "Shape of NPU and bench Tensor do not match.\n";
    if (mine.dtype != golden.dtype) message += kOtherDtype;
    if (!message.empty()) return without_word(fits ? Level::ignored : Level::fail, std::move(message));
    if (row.status == Status::unreadable)  // its header could be read, but not its elements
      return without_word(Level::error, "Dump file is not ndarray.\n");
    if (row.basis == Basis::stated) return without_word(Level::ignored, std::string(kOnlyStatistics) + "\n");
    if (metric(row, columns_.kind_mismatch).value_or(0) > 0)
      return without_word(Level::fail, "The position of inf or nan in NPU and bench Tensor do not match.\n");
    return measured(row);
  }

  static bool is_row_of_table(const SideFacts& side) {
    return side.item != nullptr && !side.item->data && side.item->stated != nullptr;
  }
  static bool is_array(const SideFacts& side) {
    return side.item != nullptr && side.item->data.has_value() && side.meta;
  }

  // Tensors of nothing but NaN and infinities, in the same places, count as equal.
  Verdict measured(const Comparison& row) const { return judge_measured(row, columns_, generation_); }

  const Generation generation_;
  const MsprobeColumns columns_;
};

Judge prepare(const Head& head, const RuleOptions&) {
  if (head.content == Content::statistics)
    return [generation = measured_generation(head)](NodeResult& node) {
      for (Comparison& row : node.rows) row.verdict = judge_statistics(row, generation);
    };
  return [rules = TensorRules(head)](NodeResult& node) {
    for (Comparison& row : node.rows) rules.judge(row);
  };
}

}  // namespace

const RuleSet msprobe_kernel_rules = {"msprobe_kernel", prepare};

}  // namespace assay

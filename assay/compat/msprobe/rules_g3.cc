// Generation 3: pass, warning or error for every row, from the rows of its operator together.
#include "assay/base/text.h"
#include "assay/compat/msprobe/row.h"
#include "assay/compat/msprobe/rules.h"
#include "assay/compat/msprobe/rules_tensor.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

namespace assay {
namespace {

// Operators whose results are undefined or no computation: nothing is held against them.
constexpr std::array<std::string_view, 9> kNotJudged = {"empty",     "empty_like",        "numpy",
                                                        "to",        "__setitem__",       "empty_with_format",
                                                        "new_empty", "new_empty_strided", "empty_strided"};
// Operators that overwrite their inputs: only outputs are judged, and not against inputs.
constexpr std::array<std::string_view, 4> kOutputsOnly = {"_reduce_scatter_base", "_all_gather_base",
                                                          "all_to_all_single", "batch_isend_irecv"};

template <size_t kCount>
bool contains(const std::array<std::string_view, kCount>& names, std::string_view name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

std::string_view second_token(std::string_view name) {
  const size_t begin = name.find('.') + 1;  // npos + 1 is 0
  if (begin == 0) return {};
  return name.substr(begin, name.find('.', begin) - begin);
}

bool is_output(const Comparison& row) {
  const std::string_view name = row.mine.name == kNoModule ? row.golden.name : row.mine.name;
  return name.find(".output.") != std::string_view::npos;
}
bool is_matched(const Comparison& row) { return row.golden.item != nullptr; }

bool is_joined_name(std::string_view name) {
  return name.find("qkv") != std::string_view::npos || name.find("gate_up") != std::string_view::npos;
}

// "[1, 217, 896]" has 217 and 896.
std::vector<std::string> long_dimensions(std::string_view shape) {
  while (!shape.empty() && (shape.front() == '[' || shape.front() == ']')) shape.remove_prefix(1);
  while (!shape.empty() && (shape.back() == '[' || shape.back() == ']')) shape.remove_suffix(1);
  std::vector<std::string> out;
  for (const std::string_view part : split(shape, ','))
    if (trim(part) != "1") out.emplace_back(trim(part));
  return out;
}

bool is_nonfinite(const Scalar& scalar) {
  const auto value = number_of(scalar);
  return value && !std::isfinite(*value);
}

// Python's ==: 3 and 3.0 are equal.
bool same_value(const Scalar& a, const Scalar& b) {
  const auto number = [](const Scalar& s) -> std::optional<double> {
    if (s.text()) return std::nullopt;
    if (const auto truth = s.boolean()) return *truth ? 1 : 0;
    return number_of(s);
  };
  const auto x = number(a), y = number(b);
  if (x && y) return *x == *y || (std::isnan(*x) && std::isnan(*y));  // NaN is the text Nan by now
  return a == b;
}

// Float32 and torch.float32 are the same type, written by two frameworks.
bool same_dtype(const Comparison& row, bool cross_framework) {
  const std::string_view mine = stated_of(row.mine).dtype, golden = stated_of(row.golden).dtype;
  if (mine.empty() || golden.empty() || mine == golden) return true;
  const auto a = find_dtype(mine), b = find_dtype(golden);
  return cross_framework && a && b && *a == *b;
}

struct Result3 {
  enum class Grade : uint8_t { pass, warning, error } grade = Grade::pass;
  std::vector<std::string_view> messages;
  Level level_below_error = Level::pass;

  void add(Grade worse, std::string_view message) {
    grade = std::max(grade, worse);
    messages.push_back(message);
  }
  void error(std::string_view message) { add(Grade::error, message); }
  void warning(std::string_view message) { add(Grade::warning, message); }
  void not_compared(std::string_view message) {
    add(Grade::warning, message);
    level_below_error = Level::ignored;
  }

  Verdict verdict() const {
    Verdict out;
    out.level = grade == Grade::error ? Level::fail : level_below_error;
    out.word = grade == Grade::error ? "error" : grade == Grade::warning ? "warning" : "pass";
    out.reason = "[";
    for (const std::string_view message : messages)
      out.reason += fmt::format("{}\"{}\"", out.reason.size() > 1 ? ", " : "", message);
    out.reason += ']';
    return out;
  }
};

class Rules {
 public:
  Rules(const Head& head, std::optional<TrainingBackend> consistent)
      : columns_(head, Generation::g3),
        consistent_(consistent),
        content_(head.content),
        cross_framework_(head.cross_framework),
        unmatched_(unmatched_level(head)) {}

  void judge(NodeResult& node) const {
    std::vector<Comparison*> rows;
    for (Comparison& row : node.rows)
      if (row.mine.item != nullptr) rows.push_back(&row);
    std::vector<Result3> results(rows.size());
    judge_rows(rows, results);
    for (size_t i = 0; i < rows.size(); ++i) {
      rows[i]->verdict = results[i].verdict();
      rows[i]->verdict.no_metric = metric_word(*rows[i]);
      if (content_ == Content::data &&
          tensor_case(*rows[i], columns_, Generation::g3) == TensorCase::only_statistics)
        rows[i]->evidence = Evidence::nothing;
      if (rows[i]->mine.name == kNoModule) {
        rows[i]->status = Status::only_golden;
        rows[i]->evidence = Evidence::nothing;
      }
      if (!is_matched(*rows[i]) || rows[i]->mine.name == kNoModule) rows[i]->verdict.level = unmatched_;
    }
    for (Comparison& row : node.rows)
      if (row.mine.item == nullptr) row.verdict = {unmatched_, "[]", "pass"};
  }

 private:
  using Rows = std::vector<Comparison*>;

  std::string_view metric_word(const Comparison& row) const {
    if (content_ != Content::data) return {};
    switch (tensor_case(row, columns_, Generation::g3)) {
      case TensorCase::measured:
      case TensorCase::scalar:
        return {};
      case TensorCase::other_shape:
        return "shape unmatched";
      case TensorCase::other_nonfinite:
        return "N/A";
      default:
        return "unsupported";
    }
  }

  void judge_rows(const Rows& rows, std::vector<Result3>& results) const {
    const auto first_input =
        std::find_if(rows.begin(), rows.end(), [](const Comparison* r) { return !is_output(*r); });
    const std::string_view name =
        first_input == rows.end() ? std::string_view() : second_token((*first_input)->mine.name);
    if (contains(kNotJudged, name)) return;
    const bool outputs_only = contains(kOutputsOnly, name);
    if (content_ == Content::checksums) {
      for (size_t i = 0; i < rows.size(); ++i)
        if (!outputs_only || is_output(*rows[i])) check_checksum(*rows[i], results[i]);
      return;
    }
    // In the order in which the original applies its checks, which is the order of the messages.
    const auto each = [&](auto&& check) {
      for (size_t i = 0; i < rows.size(); ++i)
        if (!outputs_only || is_output(*rows[i])) check(*rows[i], results[i]);
    };
    each([](const Comparison& row, Result3& result) { check_nonfinite(row, result); });
    if (content_ == Content::data)
      each([this](const Comparison& row, Result3& result) { check_kept(row, result); });
    if (!outputs_only) {
      if (content_ == Content::data)
        check_ratio(rows, results);
      else
        check_norm(rows, results);
    }
    const bool of_training = consistent_ && content_ == Content::data;
    each([&](const Comparison& row, Result3& result) {
      if (is_matched(row) && !of_training && requires_grad(row.mine) != requires_grad(row.golden))
        result.error("error: The Required_Grad of NPU and Bench are inconsistent");
    });
    if (!outputs_only)
      for (size_t i = 0; i < rows.size(); ++i)
        if (!is_output(*rows[i])) check_scalar(*rows[i], results[i]);
    each([this](const Comparison& row, Result3& result) {
      const bool merged = is_joined_name(row.golden.name);
      if (is_matched(row) && !merged && row.mine.name != kNoModule && !same_dtype(row, cross_framework_))
        result.error("error: The dtype of NPU and Bench are inconsistent.");
    });
    each([&](const Comparison& row, Result3& result) {
      if (is_matched(row) &&
          (of_training ? has_other_shape(row) : stated_of(row.mine).shape != stated_of(row.golden).shape))
        result.error("error: The shape of NPU and Bench are inconsistent.");
    });
    if (outputs_only) return;
    if (content_ == Content::data)
      check_cosine(rows, results);
    else
      check_norm_growth(rows, results);
  }

  // Without dimensions of size 1. What FSDP joins is not looked at; of Megatron the last two may be one.
  bool has_other_shape(const Comparison& row) const {
    const bool is_fsdp = *consistent_ == TrainingBackend::fsdp;
    if (row.mine.name == kNoModule || (is_fsdp && is_joined_name(row.golden.name))) return false;
    std::vector<std::string> mine = long_dimensions(stated_of(row.mine).shape);
    const std::vector<std::string> golden = long_dimensions(stated_of(row.golden).shape);
    if (!is_fsdp && mine.size() == 3 && golden.size() != 3) {
      const auto rows = parse_int(mine[1]), columns = parse_int(mine[2]);
      if (rows && columns) mine = {mine[0], std::to_string(*rows * *columns)};
    }
    return mine != golden;
  }

  static void check_nonfinite(const Comparison& row, Result3& result) {
    const Stated &mine = stated_of(row.mine), &golden = stated_of(row.golden);
    if (is_nonfinite(golden.max) || is_nonfinite(golden.min)) return;
    if (is_nonfinite(mine.max) || is_nonfinite(mine.min))
      result.error("error: There is nan/inf/-inf in the maximum or minimum value of NPU.");
  }

  void check_kept(const Comparison& row, Result3& result) const {
    if (tensor_case(row, columns_, Generation::g3) == TensorCase::only_statistics)
      result.not_compared("warning: Only statistics were kept of it, can not compare.");
    // The original compares it as it is: something else than was asked for.
    if (row.is_unprepared)
      result.not_compared("warning: It could not be multiplied by its matrix, can not compare.");
  }

  static void check_scalar(const Comparison& row, Result3& result) {
    const Stated &mine = stated_of(row.mine), &golden = stated_of(row.golden);
    constexpr std::string_view kClass = "class";
    const bool is_scalar = mine.dtype.find(kClass) != std::string_view::npos &&
                           golden.dtype.find(kClass) != std::string_view::npos && mine.shape == "[]";
    if (is_matched(row) && is_scalar && !same_value(mine.max, golden.max))
      result.error("error: The scalar parameters of NPU and Bench are inconsistent.");
  }

  static void check_checksum(const Comparison& row, Result3& result) {
    if (without_checksums(row))
      return result.not_compared("warning: Neither NPU nor Bench has a CRC-32 value, can not compare.");
    const std::string_view mine = printed_checksum(row.mine), golden = printed_checksum(row.golden);
    if (mine == golden) return;
    if (mine == "N/A" || golden == "N/A")
      result.warning("warning: The parameter of NPU does not match the bench.");
    else
      result.error("error: The CRC-32 value of NPU differs from that of the bench.");
  }

  // The smallest (or largest) number of a column over inputs or outputs; words do not count.
  template <class Pick>
  double extreme(const Rows& rows, bool outputs, double start, Pick&& pick, bool smallest) const {
    for (const Comparison* row : rows) {
      if (is_output(*row) != outputs) continue;
      if (const std::optional<double> value = pick(*row); value && !std::isnan(*value))
        start = smallest ? std::min(start, *value) : std::max(start, *value);
    }
    return start;
  }

  std::optional<double> printed(const Comparison& row, int column) const {
    if (tensor_case(row, columns_, Generation::g3) != TensorCase::measured) return std::nullopt;
    return metric(row, column);
  }

  // The word "inf" has no percent sign and is no number here, but it is one to the check of a single output.
  std::optional<double> norm_error(const Comparison& row) const {
    const auto percent = metric(row, columns_.norm_diff_pct);
    return percent ? std::optional(*percent / 100) : std::nullopt;
  }

  bool is_far_off(const Comparison& row) const {
    const auto column = static_cast<size_t>(columns_.norm_diff_pct);
    const auto* const word =
        column < row.metrics.size() ? std::get_if<std::string>(&row.metrics[column]) : nullptr;
    if (word != nullptr) return *word == "inf" || *word == "-inf";
    return norm_error(row).value_or(0) > 0.5;
  }

  static size_t first_output(const Rows& rows) {
    return static_cast<size_t>(
        std::find_if(rows.begin(), rows.end(), [](const Comparison* r) { return is_output(*r); }) -
        rows.begin());
  }

  void check_ratio(const Rows& rows, std::vector<Result3>& results) const {
    const size_t out = first_output(rows);
    if (out == rows.size()) return;
    const auto ratio = [this](const Comparison& row) { return printed(row, columns_.ratio_1e3); };
    // The text says 0.6; the original compares with 0.1.
    if (extreme(rows, false, 1, ratio, true) > 0.9 && extreme(rows, true, 1, ratio, true) < 0.1)
      results[out].error(
          "error: The input/parameters of One Thousandth Err Ratio > 0.9 while the output < 0.6.");
  }

  void check_norm(const Rows& rows, std::vector<Result3>& results) const {
    const auto error = [this](const Comparison& row) { return norm_error(row); };
    if (extreme(rows, false, 0, error, false) >= 0.1) return;
    for (size_t i = 0; i < rows.size(); ++i)
      if (is_output(*rows[i]) && is_far_off(*rows[i]))
        results[i].error("error: The NormRelativeErr of output is greater than 0.5.");
  }

  void check_norm_growth(const Rows& rows, std::vector<Result3>& results) const {
    const size_t out = first_output(rows);
    if (out == rows.size()) return;
    const auto error = [this](const Comparison& row) { return norm_error(row); };
    const double in = extreme(rows, false, 0, error, false), grown = extreme(rows, true, 0, error, false);
    if (in == 0 ? grown > 0.1 : grown / in > 10)
      results[out].warning("warning: The norm relative error of output is 10 times that of input.");
  }

  void check_cosine(const Rows& rows, std::vector<Result3>& results) const {
    const size_t out = first_output(rows);
    if (out == rows.size()) return;
    const auto cosine = [this](const Comparison& row) -> std::optional<double> {
      const auto value = printed(row, columns_.cosine);
      return value ? std::optional(printed_cosine(*value, Generation::g3)) : std::nullopt;
    };
    const double in = extreme(rows, false, 1, cosine, true);
    if (in > 0.9 && in - extreme(rows, true, 1, cosine, true) > 0.1)
      results[out].warning(
          "warning: The input/parameters of Cosine > 0.9, and input/parameters - output > 0.1");
  }

  const MsprobeColumns columns_;
  const std::optional<TrainingBackend> consistent_;
  const Content content_;
  const bool cross_framework_;
  const Level unmatched_;
};

}  // namespace

Judge prepare_msprobe_g3(const Head& head, std::optional<TrainingBackend> consistent) {
  return [rules = Rules(head, consistent)](NodeResult& node) { rules.judge(node); };
}

}  // namespace assay

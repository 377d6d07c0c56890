#include "assay/judge/msprobe_highlight.h"

#include "assay/base/text.h"

#include <cmath>

namespace assay {

// The numbers of a row that the rules look at; nothing where its cell is a word.
struct MsprobeHighlight::Row {
  bool overflows = false;  // max or min is an infinity
  bool has_maxima = false;
  bool grad_consistent = true;
  std::optional<double> max_abs;   // the largest error, or the difference of the two maxima
  std::optional<double> relative;  // of statistics: the relative difference of the maxima
  std::optional<double> ratio, cosine;
};

struct MsprobeHighlight::Texts {
  std::vector<std::string_view> red, yellow;
};

namespace {

bool is_infinite(const Scalar& scalar) {
  if (const auto text = scalar.text()) return *text == "inf" || *text == "-inf";
  const auto real = scalar.real();
  return real && std::isinf(*real);
}

// A statistic whose cell is a number; NaN is printed as a word.
bool is_number(const Scalar& scalar) {
  if (const auto real = scalar.real()) return !std::isnan(*real);
  return scalar.integer().has_value();
}

std::optional<double> unless_nan(std::optional<double> value) {
  return value && std::isnan(*value) ? std::nullopt : value;
}

void append(std::string& reason, const std::vector<std::string_view>& texts) {
  for (const std::string_view text : texts) {
    if (!reason.empty()) reason += '\n';
    reason += text;
  }
}

}  // namespace

MsprobeHighlight::MsprobeHighlight(const Head& head, Generation generation)
    : columns_(head, generation),
      generation_(generation),
      by_statistics_(head.content == Content::statistics) {}

MsprobeHighlight::Row MsprobeHighlight::look_at(const Comparison& row) const {
  const Stated &mine = stated_of(row.mine), &golden = stated_of(row.golden);
  Row out;
  out.overflows = is_infinite(mine.max) || is_infinite(mine.min);
  out.has_maxima = is_number(mine.max) && is_number(golden.max);
  out.grad_consistent = grad_consistent(row);
  if (by_statistics_) {
    out.max_abs = unless_nan(metric(row, columns_.max_diff));
    out.relative = unless_nan(metric(row, columns_.max_diff_pct));
    if (out.relative) *out.relative /= 100;
    if (generation_ == Generation::g1 && out.max_abs && is_number(golden.max))
      out.relative = std::abs(*out.max_abs / std::max(0.01, *number_of(golden.max)));
    return out;
  }
  const TensorCase what = tensor_case(row, columns_, generation_);
  if (what != TensorCase::measured && what != TensorCase::scalar) return out;
  if (const auto largest = metric(row, columns_.max_abs)) out.max_abs = rounded(*largest, 12);
  if (what == TensorCase::scalar) return out;
  if (!out.max_abs) out.max_abs = 0;  // nothing but infinities and NaN in the same places
  if (const auto ratio = metric(row, columns_.ratio_1e3)) out.ratio = rounded(*ratio, 12);
  if (row.mine.meta->shape.count() > 1) out.cosine = unless_nan(metric(row, columns_.cosine));
  return out;
}

void MsprobeHighlight::check_alone(const Row& row, Texts& texts) const {
  if (row.overflows)
    texts.red.push_back("maximum or minimum is nan, -inf, or inf");
  else if (row.max_abs && std::abs(*row.max_abs) > 1e10)
    texts.red.push_back("maximum absolute error exceeds 1e+10");
}

void MsprobeHighlight::check_relative(const Row& in, const Row& out, Texts& texts) const {
  if (!out.relative) return;
  if (*out.relative > 0.5) texts.red.push_back("maximum relative error exceeds 0.5");
  if (!in.relative) return;
  if (*out.relative > 0.1 && *in.relative < 0.01)
    texts.yellow.push_back(
        generation_ == Generation::g1
            ? "The output's maximum relative error exceeds 0.1, while the input's is below 0.01"
            : "The output's maximum relative error exceeds 0.1, while the input/parameter's is "
              "below 0.01");
}

void MsprobeHighlight::check_pair(const Row& in, const Row& out, Texts& texts) const {
  const bool g1 = generation_ == Generation::g1;
  const double error_in = std::abs(*in.max_abs), error_out = std::abs(*out.max_abs);
  const bool large = g1 || (error_in > 1 && error_out > 1);
  const auto order = [](double error) { return error < 1 ? 0 : std::log10(error); };
  if (error_in <= error_out && large && order(error_out) - order(error_in) >= 1)
    texts.yellow.push_back(
        g1 ? "maximum absolute error of both input and output exceed 1, with the output larger by "
             "an order of magnitude"
           : "maximum absolute error of both input/parameters and output exceed 1, with the output "
             "larger by an order of magnitude");
  if (by_statistics_) return check_relative(in, out, texts);
  if (in.ratio && out.ratio) {
    if (*in.ratio > 0.9 && *out.ratio < 0.6)
      texts.red.push_back(
          g1 ? "The input's one thousandth err ratio exceeds 0.9, while the output's is below 0.6"
             : "The input/parameter's one thousandth err ratio exceeds 0.9, while the output's is "
               "below 0.6");
    else if (*in.ratio - *out.ratio > 0.1)
      texts.yellow.push_back(
          g1 ? "The output's one thousandth err ratio decreases by more than 0.1 compared to the "
               "input's"
             : "The output's one thousandth err ratio decreases by more than 0.1 compared to the "
               "input/parameter's");
  }
  if (in.cosine && out.cosine && *in.cosine - *out.cosine > 0.1)
    texts.yellow.push_back(
        g1 ? "The output's cosine decreases by more than 0.1 compared to the input's"
           : "The output's cosine decreases by more than 0.1 compared to the input/parameter's");
}

void MsprobeHighlight::paint(NodeResult& node) const {
  std::vector<Row> rows;
  std::vector<Comparison*> results;
  for (Comparison& row : node.rows) {
    if (!is_shown(row, generation_)) continue;
    rows.push_back(look_at(row));
    results.push_back(&row);
  }
  std::vector<Texts> texts(rows.size());
  // The first row counts as an input whatever it is, as in the original.
  const auto is_output = [&](size_t i) { return i > 0 && direction_of(*results[i]) == Direction::output; };
  const auto is_input = [&](size_t i) {
    return !is_output(i) && (i == 0 || direction_of(*results[i]) != Direction::parameter_gradient);
  };
  const auto comparable = [&](size_t i) { return rows[i].has_maxima && rows[i].max_abs.has_value(); };
  for (size_t i = 0; i < rows.size(); ++i) check_alone(rows[i], texts[i]);
  for (size_t out = 0; out < rows.size(); ++out) {
    if (!is_output(out) || !comparable(out)) continue;
    for (size_t in = 0; in < rows.size(); ++in)
      if (is_input(in) && comparable(in)) check_pair(rows[in], rows[out], texts[out]);
  }
  for (size_t i = 0; i < rows.size(); ++i) {
    if (generation_ == Generation::g2 && !rows[i].grad_consistent)
      texts[i].yellow.push_back("requires_grad is inconsistent");
    Verdict& verdict = results[i]->verdict;
    if (texts[i].red.empty() && texts[i].yellow.empty()) continue;
    verdict.paint = texts[i].red.empty() ? Paint::yellow : Paint::red;
    append(verdict.reason, texts[i].red.empty() ? texts[i].yellow : texts[i].red);
  }
}

}  // namespace assay

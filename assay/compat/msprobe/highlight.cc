#include "assay/compat/msprobe/highlight.h"

#include "assay/base/text.h"

#include <algorithm>
#include <bit>
#include <cmath>

namespace assay {

// What outputs and inputs are held against each other by.
struct MsprobeHighlight::Numbers {
  std::optional<double> order;     // of magnitude of the error, where it is large enough to count
  std::optional<double> relative;  // of statistics: the relative difference of the maxima
  std::optional<double> ratio, cosine;
};

// All numbers of a row that the rules look at; nothing where its cell is a word.
struct MsprobeHighlight::Row : Numbers {
  bool overflows = false;  // max or min is an infinity
  bool has_maxima = false;
  bool grad_consistent = true;
  std::optional<double> max_abs;  // the largest error, or the difference of the two maxima
};

struct MsprobeHighlight::Texts {
  std::vector<std::string_view> red, yellow;

  const std::vector<std::string_view>& of(Paint paint) const { return paint == Paint::red ? red : yellow; }
};

namespace {

bool is_infinite(const Scalar& scalar) {
  if (const auto text = scalar.text()) return *text == "inf" || *text == "-inf";
  const auto real = scalar.real();
  return real && std::isinf(*real);
}

// A cell that says nan in small letters, which the original takes for an overflow too.
bool is_plain_nan(const Scalar& scalar, bool is_word) {
  if (const auto text = scalar.text()) return *text == "nan";
  const auto real = scalar.real();
  return real && std::isnan(*real) && !is_word;
}

// A statistic whose cell is a number; NaN is printed as a word.
bool is_number(const Scalar& scalar) {
  if (const auto real = scalar.real()) return !std::isnan(*real);
  return scalar.integer() || scalar.digits();
}

std::optional<double> unless_nan(std::optional<double> value) {
  return value && std::isnan(*value) ? std::nullopt : value;
}

// As much as a cell holds, and as the original's writer keeps. Every input may add a text to every output.
constexpr size_t kCellText = 32'767;

void append(std::string& reason, const std::vector<std::string_view>& texts) {
  for (const std::string_view text : texts) {
    if (reason.size() >= kCellText) return;
    if (!reason.empty()) reason += '\n';
    reason += text;
  }
}

std::optional<double> larger(std::optional<double> a, std::optional<double> b) {
  return a && b ? std::max(*a, *b) : a ? a : b;
}
std::optional<double> smaller(std::optional<double> a, std::optional<double> b) {
  return a && b ? std::min(*a, *b) : a ? a : b;
}

}  // namespace

// The inputs of an operator as a tree: a node has the most alarming numbers of the two below it, so that
// where a rule is content with a node it is content with every input below. An output visits only the inputs
// that have something to say of it; there may be tens of thousands of both.
class MsprobeHighlight::Inputs {
 public:
  explicit Inputs(std::vector<Numbers> inputs)
      : count_(inputs.size()), leaves_(std::bit_ceil(std::max<size_t>(inputs.size(), 1))) {
    nodes_.resize(leaves_);
    nodes_.insert(nodes_.end(), inputs.begin(), inputs.end());
    nodes_.resize(2 * leaves_);
    for (size_t i = leaves_; i-- > 1;) nodes_[i] = worse(nodes_[2 * i], nodes_[2 * i + 1]);
  }

  bool empty() const { return count_ == 0; }
  const Numbers& worst() const { return nodes_[1]; }

  // The inputs that `speaks` may hold for, in order, until `hear` has enough.
  template <typename Speaks, typename Hear>
  void visit(const Speaks& speaks, const Hear& hear) const {
    std::vector<size_t> open = {1};
    while (!open.empty()) {
      const size_t node = open.back();
      open.pop_back();
      if (node >= leaves_ + count_ || !speaks(nodes_[node])) continue;
      if (node < leaves_) {
        open.push_back(2 * node + 1);
        open.push_back(2 * node);
      } else if (!hear(nodes_[node])) {
        return;
      }
    }
  }

 private:
  static Numbers worse(const Numbers& a, const Numbers& b) {
    return {.order = smaller(a.order, b.order),
            .relative = smaller(a.relative, b.relative),
            .ratio = larger(a.ratio, b.ratio),
            .cosine = larger(a.cosine, b.cosine)};
  }

  const size_t count_, leaves_;
  std::vector<Numbers> nodes_;  // the root at 1, the children of i at 2i and 2i + 1
};

MsprobeHighlight::MsprobeHighlight(const Head& head, Generation generation, bool as_python)
    : columns_(head, generation),
      generation_(generation),
      as_python_(as_python),
      by_statistics_(head.content == Content::statistics) {}

MsprobeHighlight::Row MsprobeHighlight::look_at(const Comparison& row) const {
  const Stated &mine = stated_of(row.mine), &golden = stated_of(row.golden);
  Row out;
  out.overflows = is_infinite(mine.max) || is_infinite(mine.min);
  // True and False are numbers to Python; from generation 2 on they are texts when the colours are chosen.
  const auto counts = [&](const Scalar& scalar) {
    return is_number(scalar) || (generation_ == Generation::g1 && scalar.boolean());
  };
  out.has_maxima = counts(mine.max) && counts(golden.max);
  out.grad_consistent = grad_consistent(row);
  if (as_python_) look_as_python(row, out);
  if (by_statistics_) {
    out.max_abs = unless_nan(metric(row, columns_.max_diff));
    const bool is_written = is_python_number(mine.max) && is_python_number(golden.max);
    if (as_python_ && out.max_abs && (!is_written || std::isinf(*out.max_abs))) out.max_abs.reset();
    out.relative = unless_nan(metric(row, columns_.max_diff_pct));
    if (out.relative) *out.relative /= 100;
    if (generation_ == Generation::g1 && out.max_abs && is_number(golden.max))
      out.relative = unless_nan(std::abs(*out.max_abs / std::max(0.01, *number_of(golden.max))));
    out.order = order_of(out.max_abs);
    return out;
  }
  const TensorCase what = tensor_case(row, columns_, generation_);
  if (what == TensorCase::empty && generation_ == Generation::g1)
    out.max_abs = out.ratio = out.order = 0;  // as it prints
  if (what != TensorCase::measured && what != TensorCase::scalar) return out;
  if (const auto largest = metric(row, columns_.max_abs)) out.max_abs = rounded(*largest, 12);
  if (what != TensorCase::scalar && !out.max_abs)
    out.max_abs = 0;  // nothing but infinities and NaN in the same places
  out.order = order_of(out.max_abs);
  if (what == TensorCase::scalar) return out;
  if (const auto ratio = metric(row, columns_.ratio_1e3)) out.ratio = unless_nan(rounded(*ratio, 12));
  if (row.mine.meta->shape.count() > 1) out.cosine = unless_nan(metric(row, columns_.cosine));
  return out;
}

// Generation 1 takes an error below 1 for 1; later ones look only at errors above it.
std::optional<double> MsprobeHighlight::order_of(std::optional<double> error) const {
  if (!error || std::isnan(*error)) return std::nullopt;
  const double size = std::abs(*error);
  if (size > 1) return std::log10(size);
  return generation_ == Generation::g1 ? std::optional(0.0) : std::nullopt;
}

// True and False are numbers to Python; the infinities of statistics are texts when the colours are chosen.
void MsprobeHighlight::look_as_python(const Comparison& row, Row& out) const {
  const Stated &mine = stated_of(row.mine), &golden = stated_of(row.golden);
  const bool nan_is_word = row.golden.item != nullptr && row.pair.why != Why::data_mapping;
  out.overflows |= is_plain_nan(mine.max, nan_is_word) || is_plain_nan(mine.min, nan_is_word);
  const auto counts = [&](const Scalar& scalar) {
    return scalar.boolean() || (is_number(scalar) && !(by_statistics_ && is_infinite(scalar)));
  };
  out.has_maxima = counts(mine.max) && counts(golden.max);
}

void MsprobeHighlight::check_alone(const Row& row, Texts& texts) const {
  if (row.overflows)
    texts.red.push_back("maximum or minimum is nan, -inf, or inf");
  else if (row.max_abs && std::abs(*row.max_abs) > 1e10)
    texts.red.push_back("maximum absolute error exceeds 1e+10");
}

void MsprobeHighlight::check_relative(const Numbers& in, const Numbers& out, Texts& texts) const {
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

void MsprobeHighlight::check_pair(const Numbers& in, const Numbers& out, Texts& texts) const {
  const bool g1 = generation_ == Generation::g1;
  if (in.order && out.order && *out.order - *in.order >= 1)
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
  // The first row counts as an input whatever it is, as in the original.
  const auto is_output = [&](size_t i) { return i > 0 && direction_of(*results[i]) == Direction::output; };
  const auto is_input = [&](size_t i) {
    return !is_output(i) && (i == 0 || direction_of(*results[i]) != Direction::parameter_gradient);
  };
  const auto comparable = [&](size_t i) { return rows[i].has_maxima && rows[i].max_abs.has_value(); };
  std::vector<Numbers> of_inputs;
  for (size_t i = 0; i < rows.size(); ++i)
    if (is_input(i) && comparable(i)) of_inputs.push_back(rows[i]);
  const Inputs inputs(std::move(of_inputs));
  Texts texts;
  for (size_t i = 0; i < rows.size(); ++i) {
    const Row& row = rows[i];
    Verdict& verdict = results[i]->verdict;
    const bool is_held_against_inputs = is_output(i) && comparable(i) && !inputs.empty();
    texts = {};
    check_alone(row, texts);
    if (is_held_against_inputs) check_pair(inputs.worst(), row, texts);
    const bool grad_differs = generation_ == Generation::g2 && !row.grad_consistent;
    if (texts.red.empty() && texts.yellow.empty() && !grad_differs) continue;
    // Texts of the paler colour stand in rows of that colour only.
    verdict.paint = texts.red.empty() ? Paint::yellow : Paint::red;
    texts = {};
    check_alone(row, texts);
    append(verdict.reason, texts.of(verdict.paint));
    if (is_held_against_inputs) append_pairs(verdict, row, inputs);
    if (grad_differs && verdict.paint == Paint::yellow)
      append(verdict.reason, {"requires_grad is inconsistent"});
  }
}

// What the inputs have to say of an output in its colour, one after the other.
void MsprobeHighlight::append_pairs(Verdict& verdict, const Row& output, const Inputs& inputs) const {
  Texts texts;
  inputs.visit(
      [&](const Numbers& input) {
        texts = {};
        check_pair(input, output, texts);
        return !texts.of(verdict.paint).empty();
      },
      [&](const Numbers&) {
        append(verdict.reason, texts.of(verdict.paint));
        return verdict.reason.size() < kCellText;
      });
}

}  // namespace assay

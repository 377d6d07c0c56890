// Evaluation of rules, and the explanation of a failed one.
#include "assay/base/text.h"
#include "assay/judge/expression_program.h"
#include "assay/judge/judge.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace assay {
namespace {

constexpr size_t kMaxReasons = 4;
constexpr size_t kShownText = 60;  // of a calculation inside a reason

enum class Truth : uint8_t { no, yes, unknown };

// The outcome of one step: a number (if `present`) or a truth.
struct Cell {
  double number = 0;
  bool present = false;
  Truth truth = Truth::unknown;
};

Truth truth_of(bool value) { return value ? Truth::yes : Truth::no; }

// NaN equals NaN and nothing else, as for two tensors; what is larger, NaN or 1, nobody knows.
Truth compare(RuleOp op, double a, double b) {
  const bool a_nan = std::isnan(a), b_nan = std::isnan(b);
  const bool equal = (a_nan && b_nan) || a == b;
  if (op == RuleOp::equal) return truth_of(equal);
  if (op == RuleOp::not_equal) return truth_of(!equal);
  if (a_nan || b_nan) return Truth::unknown;
  switch (op) {
    case RuleOp::less:
      return truth_of(a < b);
    case RuleOp::less_equal:
      return truth_of(a <= b);
    case RuleOp::greater:
      return truth_of(a > b);
    default:
      return truth_of(a >= b);
  }
}

double calculate(RuleOp op, double a, double b) {
  switch (op) {
    case RuleOp::negate:
      return -a;
    case RuleOp::add:
      return a + b;
    case RuleOp::subtract:
      return a - b;
    case RuleOp::multiply:
      return a * b;
    case RuleOp::divide:
      return a / b;
    case RuleOp::absolute:
      return std::fabs(a);
    // Not fmin and fmax, which would drop a NaN.
    case RuleOp::minimum:
      return std::isnan(a) || a < b ? a : b;
    case RuleOp::maximum:
      return std::isnan(a) || a > b ? a : b;
    case RuleOp::square_root:
      return std::sqrt(a);
    default:
      return std::log10(a);
  }
}

Truth combine(RuleOp op, Truth a, Truth b) {
  if (op == RuleOp::logic_not) return a == Truth::unknown ? a : truth_of(a == Truth::no);
  const Truth decisive = op == RuleOp::logic_or ? Truth::yes : Truth::no;
  if (a == decisive || b == decisive) return decisive;
  return a == Truth::unknown ? a : b;
}

// Every step in turn; the last cell is the answer.
std::vector<Cell> evaluate(const RuleProgram& program, const void* context, Expression::Look look) {
  std::vector<std::optional<double>> values;
  values.reserve(program.names.size());
  for (const std::string& name : program.names) values.push_back(look(context, name));
  std::vector<Cell> cells(program.steps.size());
  for (size_t i = 0; i < cells.size(); ++i) {
    const RuleStep& step = program.steps[i];
    Cell& out = cells[i];
    const Cell none;
    const Cell& a = step.left < 0 ? none : cells[static_cast<size_t>(step.left)];
    const Cell& b = step.right < 0 ? none : cells[static_cast<size_t>(step.right)];
    if (step.op == RuleOp::number) {
      out = {step.number, true, Truth::unknown};
    } else if (step.op == RuleOp::name) {
      const std::optional<double>& value = values[static_cast<size_t>(step.name)];
      out = {value.value_or(0), value.has_value(), Truth::unknown};
    } else if (is_comparison(step.op)) {
      if (a.present && b.present) out.truth = compare(step.op, a.number, b.number);
    } else if (is_condition(step.op)) {
      out.truth = combine(step.op, a.truth, b.truth);
    } else if (a.present && (step.right < 0 || b.present)) {
      out = {calculate(step.op, a.number, b.number), true, Truth::unknown};
    }
  }
  return cells;
}

// The sign of a comparison as it turned out: `<=` that failed is `>`.
std::string_view sign(RuleOp op, bool held) {
  switch (op) {
    case RuleOp::less:
      return held ? "<" : ">=";
    case RuleOp::less_equal:
      return held ? "<=" : ">";
    case RuleOp::greater:
      return held ? ">" : "<=";
    case RuleOp::greater_equal:
      return held ? ">=" : "<";
    case RuleOp::equal:
      return held ? "==" : "!=";
    default:
      return held ? "!=" : "==";
  }
}

// Source text of a step on one line.
std::string source(const RuleProgram& program, const RuleStep& step) {
  std::string out;
  for (const char c :
       std::string_view(program.text)
           .substr(static_cast<size_t>(step.begin), static_cast<size_t>(step.end - step.begin))) {
    const bool blank = c == ' ' || c == '\t' || c == '\n' || c == '\r';
    if (!blank)
      out += c;
    else if (!out.empty() && out.back() != ' ')
      out += ' ';
  }
  if (out.size() > kShownText) out = out.substr(0, kShownText) + "...";
  return out;
}

class Explainer {
 public:
  Explainer(const RuleProgram& program, std::vector<Cell> cells)
      : program_(program), cells_(std::move(cells)) {}

  std::string run() {
    struct Visit {
      int32_t step;
      bool wanted;
    };
    std::vector<Visit> ahead = {{static_cast<int32_t>(cells_.size()) - 1, true}};
    while (!ahead.empty()) {
      const Visit visit = ahead.back();
      ahead.pop_back();
      const RuleStep& step = program_.steps[static_cast<size_t>(visit.step)];
      const Truth truth = cells_[static_cast<size_t>(visit.step)].truth;
      if (truth == truth_of(visit.wanted)) continue;
      if (is_comparison(step.op)) {
        comparison(step, truth);
      } else if (step.op == RuleOp::logic_not) {
        ahead.push_back({step.left, !visit.wanted});
      } else {
        ahead.push_back({step.right, visit.wanted});
        ahead.push_back({step.left, visit.wanted});
      }
    }
    std::string out;
    for (const std::string& reason : reasons_) out += (out.empty() ? "" : "; ") + reason;
    return out;
  }

 private:
  void add(std::string reason) {
    if (reasons_.size() < kMaxReasons &&
        std::find(reasons_.begin(), reasons_.end(), reason) == reasons_.end())
      reasons_.push_back(std::move(reason));
  }

  void comparison(const RuleStep& step, Truth truth) {
    if (reasons_.size() >= kMaxReasons) return;
    if (truth != Truth::unknown) {
      add(fmt::format("{} {} {}", operand(step.left), sign(step.op, truth == Truth::yes),
                      operand(step.right)));
      return;
    }
    if (absent(step.left) | absent(step.right)) return;
    for (const int32_t side : {step.left, step.right})
      if (std::isnan(cells_[static_cast<size_t>(side)].number))
        add(fmt::format("{} is not a number", source(program_, program_.steps[static_cast<size_t>(side)])));
  }

  // "max_abs 0.5", "0.001", "0.3 (16 * eps * golden_rms)"
  std::string operand(int32_t index) const {
    const RuleStep& step = program_.steps[static_cast<size_t>(index)];
    const double number = cells_[static_cast<size_t>(index)].number;
    if (step.op == RuleOp::number) return fmt::format("{:.6g}", number);
    if (step.op == RuleOp::name)
      return fmt::format("{} {:.6g}", program_.names[static_cast<size_t>(step.name)], number);
    return fmt::format("{:.6g} ({})", number, source(program_, step));
  }

  // Names every absent metric below a step that has no value.
  bool absent(int32_t index) {
    if (cells_[static_cast<size_t>(index)].present) return false;
    std::vector<int32_t> ahead = {index};
    while (!ahead.empty()) {
      const int32_t at = ahead.back();
      ahead.pop_back();
      if (at < 0 || cells_[static_cast<size_t>(at)].present) continue;
      const RuleStep& step = program_.steps[static_cast<size_t>(at)];
      if (step.op == RuleOp::name) {
        add(program_.names[static_cast<size_t>(step.name)] + " is not available");
      } else {
        ahead.push_back(step.right);
        ahead.push_back(step.left);
      }
    }
    return true;
  }

  const RuleProgram& program_;
  std::vector<Cell> cells_;
  std::vector<std::string> reasons_;
};

}  // namespace

Result<Expression> Expression::parse(std::string_view text) {
  ASSAY_TRY(std::shared_ptr<const RuleProgram> program, compile_rule(text));
  return Expression(std::move(program));
}

const std::string& Expression::text() const { return program_->text; }
const std::vector<std::string>& Expression::names() const { return program_->names; }

bool Expression::holds(const void* context, Look look) const {
  return evaluate(*program_, context, look).back().truth == Truth::yes;
}

bool Expression::fails(const void* context, Look look) const {
  return evaluate(*program_, context, look).back().truth == Truth::no;
}

std::string Expression::why_not(const void* context, Look look) const {
  return Explainer(*program_, evaluate(*program_, context, look)).run();
}

}  // namespace assay

// Text of a rule → steps. Precedence climbing; only parentheses, functions, `not` and a leading minus nest.
#include "assay/base/text.h"
#include "assay/judge/expression_program.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <limits>
#include <map>

namespace assay {
namespace {

constexpr size_t kMaxText = 64 * 1024;
constexpr int kMaxDepth = 200;
constexpr size_t kShownText = 60;  // of a rule, in an error message

constexpr int kComparison = 4, kLeadingMinus = 7;  // precedences; the higher binds tighter

struct Binary {
  std::string_view sign;
  RuleOp op;
  int precedence;
};
constexpr std::array<Binary, 12> kBinaries = {{
    {"or", RuleOp::logic_or, 1},
    {"and", RuleOp::logic_and, 2},
    {"<", RuleOp::less, kComparison},
    {"<=", RuleOp::less_equal, kComparison},
    {">", RuleOp::greater, kComparison},
    {">=", RuleOp::greater_equal, kComparison},
    {"==", RuleOp::equal, kComparison},
    {"!=", RuleOp::not_equal, kComparison},
    {"+", RuleOp::add, 5},
    {"-", RuleOp::subtract, 5},
    {"*", RuleOp::multiply, 6},
    {"/", RuleOp::divide, 6},
}};

struct Function {
  std::string_view name;
  RuleOp op;
  int arguments;
};
constexpr std::array<Function, 5> kFunctions = {{
    {"abs", RuleOp::absolute, 1},
    {"min", RuleOp::minimum, 2},
    {"max", RuleOp::maximum, 2},
    {"sqrt", RuleOp::square_root, 1},
    {"log10", RuleOp::log10, 1},
}};

const Function* find_function(std::string_view name) {
  const auto found =
      std::find_if(kFunctions.begin(), kFunctions.end(), [&](const Function& f) { return f.name == name; });
  return found == kFunctions.end() ? nullptr : &*found;
}

bool is_blank(char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r'; }
bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool starts_word(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }
bool in_word(char c) { return starts_word(c) || is_digit(c); }

enum class Kind : uint8_t { end, number, word, sign };

struct Token {
  Kind kind = Kind::end;
  size_t begin = 0;
  std::string_view text;
  double number = 0;
};

class Parser {
 public:
  explicit Parser(std::string_view text) : text_(text) { program_.text = std::string(text); }

  Result<RuleProgram> run() {
    ASSAY_TRY_DO(advance());
    ASSAY_TRY(const int32_t root, expression(0, 0));
    if (token_.kind != Kind::end)
      return wrong(token_.begin,
                   fmt::format("expected 'and', 'or', an operator or the end, found {}", found()));
    if (!condition(root))
      return wrong(0, "a rule is a condition such as max_abs <= 1e-3, and this is a number");
    return std::move(program_);
  }

 private:
  bool condition(int32_t step) const { return is_condition(program_.steps[static_cast<size_t>(step)].op); }

  tl::unexpected<Error> wrong(size_t at, std::string_view problem) const {
    // Characters, not bytes, so that an editor shows the same column.
    const auto before = text_.substr(0, at);
    const auto column =
        1 + std::count_if(before.begin(), before.end(), [](char c) { return (c & 0xC0) != 0x80; });
    const std::string shown =
        printable(text_.substr(0, kShownText)) + (text_.size() > kShownText ? "..." : "");
    return fail(ErrorKind::bad_argument, "rule '{}': column {}: {}", shown, column, problem);
  }

  std::string found() const {
    return token_.kind == Kind::end ? std::string("the end") : fmt::format("'{}'", printable(token_.text));
  }

  Result<void> advance() {
    last_end_ = token_.begin + token_.text.size();
    size_t at = last_end_;
    while (at < text_.size() && is_blank(text_[at])) ++at;
    token_ = Token{Kind::end, at, {}, 0};
    if (at == text_.size()) return {};
    const std::string_view rest = text_.substr(at);
    if (is_digit(rest[0]) || (rest[0] == '.' && rest.size() > 1 && is_digit(rest[1])))
      return take_number(rest);
    if (starts_word(rest[0])) {
      const auto end = std::find_if_not(rest.begin(), rest.end(), in_word);
      token_.kind = Kind::word;
      token_.text = rest.substr(0, static_cast<size_t>(end - rest.begin()));
      return {};
    }
    return take_sign(rest);
  }

  Result<void> take_number(std::string_view rest) {
    const auto [end, error] = std::from_chars(rest.data(), rest.data() + rest.size(), token_.number);
    size_t length = static_cast<size_t>(end - rest.data());
    const bool runs_on = length < rest.size() && (in_word(rest[length]) || rest[length] == '.');
    while (runs_on && length < rest.size() && (in_word(rest[length]) || rest[length] == '.')) ++length;
    token_.kind = Kind::number;
    token_.text = rest.substr(0, length);
    const std::string shown(token_.text.substr(0, kShownText));
    if (runs_on) return wrong(token_.begin, fmt::format("'{}' is not a number", shown));
    if (error != std::errc())
      return wrong(token_.begin, fmt::format("'{}' is beyond the range of a double", shown));
    return {};
  }

  Result<void> take_sign(std::string_view rest) {
    static constexpr std::string_view kSigns[] = {"<=", ">=", "==", "!=", "<", ">", "+",
                                                  "-",  "*",  "/",  "(",  ")", ","};
    for (const std::string_view sign : kSigns)
      if (rest.starts_with(sign)) {
        token_.kind = Kind::sign;
        token_.text = rest.substr(0, sign.size());
        return {};
      }
    if (rest[0] == '=') return wrong(token_.begin, "'=' is no comparison: write '==', or PATTERN=EXPR");
    if (rest.starts_with("&&")) return wrong(token_.begin, "write 'and' for '&&'");
    if (rest.starts_with("||")) return wrong(token_.begin, "write 'or' for '||'");
    if (rest[0] == '!') return wrong(token_.begin, "write 'not' for '!'");
    size_t length = 1;  // a whole UTF-8 character, so that the message stays readable
    while (length < rest.size() && (rest[length] & 0xC0) == 0x80) ++length;
    return wrong(token_.begin, fmt::format("unexpected '{}'", printable(rest.substr(0, length))));
  }

  bool is_sign(std::string_view sign) const { return token_.kind == Kind::sign && token_.text == sign; }

  int32_t add(RuleStep step, size_t begin) {
    step.begin = static_cast<int32_t>(begin);
    step.end = static_cast<int32_t>(last_end_);
    program_.steps.push_back(step);
    return static_cast<int32_t>(program_.steps.size()) - 1;
  }

  Result<void> wants(bool want_condition, int32_t step, size_t at, std::string_view user) const {
    if (condition(step) == want_condition) return {};
    return wrong(at, want_condition ? fmt::format("{} needs a condition here, found a number", user)
                                    : fmt::format("{} needs a number here, found a condition", user));
  }

  Result<int32_t> expression(int lowest, int depth) {
    const size_t begin = token_.begin;
    ASSAY_TRY(int32_t left, operand(depth));
    for (;;) {
      const auto binary = std::find_if(kBinaries.begin(), kBinaries.end(), [&](const Binary& b) {
        return token_.kind != Kind::end && token_.kind != Kind::number && b.sign == token_.text;
      });
      if (binary == kBinaries.end() || binary->precedence < lowest) return left;
      const bool of_conditions = binary->op == RuleOp::logic_or || binary->op == RuleOp::logic_and;
      const std::string user = fmt::format("'{}'", binary->sign);
      ASSAY_TRY_DO(wants(of_conditions, left, begin, user));
      ASSAY_TRY_DO(advance());
      const size_t right_begin = token_.begin;
      ASSAY_TRY(const int32_t right, expression(binary->precedence + 1, depth));
      ASSAY_TRY_DO(wants(of_conditions, right, right_begin, user));
      left = add({.op = binary->op, .left = left, .right = right}, begin);
    }
  }

  Result<int32_t> operand(int depth) {
    if (depth > kMaxDepth) return wrong(token_.begin, fmt::format("nested more than {} deep", kMaxDepth));
    const Token token = token_;
    if (token.kind == Kind::number) {
      ASSAY_TRY_DO(advance());
      return add({.op = RuleOp::number, .number = token.number}, token.begin);
    }
    if (is_sign("(")) return in_parentheses(depth);
    if (is_sign("-")) return negative(depth);
    if (token.kind == Kind::word && token.text == "not") {
      ASSAY_TRY_DO(advance());
      const size_t begin = token_.begin;
      ASSAY_TRY(const int32_t inner, expression(kComparison, depth + 1));
      ASSAY_TRY_DO(wants(true, inner, begin, "'not'"));
      return add({.op = RuleOp::logic_not, .left = inner}, token.begin);
    }
    if (token.kind == Kind::word && token.text != "and" && token.text != "or") return word(depth);
    return wrong(token.begin, fmt::format("expected a number, a name or '(', found {}", found()));
  }

  Result<int32_t> in_parentheses(int depth) {
    ASSAY_TRY_DO(advance());
    ASSAY_TRY(const int32_t inner, expression(0, depth + 1));
    if (!is_sign(")"))
      return wrong(token_.begin, fmt::format("expected ')' for the '(' before, found {}", found()));
    ASSAY_TRY_DO(advance());
    return inner;
  }

  Result<int32_t> negative(int depth) {
    const size_t begin = token_.begin;
    ASSAY_TRY_DO(advance());
    const size_t inner_begin = token_.begin;
    ASSAY_TRY(const int32_t inner, expression(kLeadingMinus, depth + 1));
    ASSAY_TRY_DO(wants(false, inner, inner_begin, "'-'"));
    RuleStep& step = program_.steps[static_cast<size_t>(inner)];
    if (step.op != RuleOp::number) return add({.op = RuleOp::negate, .left = inner}, begin);
    step.number = -step.number;  // so that -1 is shown as a number and not as a calculation
    return inner;
  }

  Result<int32_t> word(int depth) {
    const Token token = token_;
    ASSAY_TRY_DO(advance());
    if (is_sign("(")) return call(token, depth);
    if (token.text == "inf" || token.text == "nan") {
      const double number = token.text == "inf" ? std::numeric_limits<double>::infinity()
                                                : std::numeric_limits<double>::quiet_NaN();
      return add({.op = RuleOp::number, .number = number}, token.begin);
    }
    if (find_function(token.text))
      return wrong(token.begin, fmt::format("function '{}' needs its arguments in parentheses", token.text));
    const auto [known, is_new] =
        indices_.try_emplace(token.text, static_cast<int32_t>(program_.names.size()));
    if (is_new) program_.names.emplace_back(token.text);
    return add({.op = RuleOp::name, .name = known->second}, token.begin);
  }

  Result<int32_t> call(const Token& token, int depth) {
    const Function* function = find_function(token.text);
    if (!function)
      return wrong(token.begin, fmt::format("no function '{}'; there are abs, min, max, sqrt and log10",
                                            token.text.substr(0, kShownText)));
    ASSAY_TRY_DO(advance());  // the parenthesis
    std::array<int32_t, 2> arguments = {-1, -1};
    for (int i = 0; i < function->arguments; ++i) {
      if (i > 0) {
        if (!is_sign(","))
          return wrong(token_.begin, fmt::format("'{}' takes {} arguments: expected ',', found {}",
                                                 function->name, function->arguments, found()));
        ASSAY_TRY_DO(advance());
      }
      const size_t begin = token_.begin;
      ASSAY_TRY(arguments[static_cast<size_t>(i)], expression(0, depth + 1));
      ASSAY_TRY_DO(
          wants(false, arguments[static_cast<size_t>(i)], begin, fmt::format("'{}'", function->name)));
    }
    if (!is_sign(")"))
      return wrong(token_.begin,
                   fmt::format("'{}' takes {} argument{}: expected ')', found {}", function->name,
                               function->arguments, function->arguments == 1 ? "" : "s", found()));
    ASSAY_TRY_DO(advance());
    return add({.op = function->op, .left = arguments[0], .right = arguments[1]}, token.begin);
  }

  std::string_view text_;
  RuleProgram program_;
  std::map<std::string_view, int32_t> indices_;  // of program_.names
  Token token_;
  size_t last_end_ = 0;  // where the token before token_ ends
};

}  // namespace

Result<std::shared_ptr<const RuleProgram>> compile_rule(std::string_view text) {
  if (text.size() > kMaxText)
    return fail(ErrorKind::limit, "a rule of {} bytes is too long; at most {} are allowed", text.size(),
                kMaxText);
  if (trim(text).empty())
    return fail(ErrorKind::bad_argument, "the rule is empty; expected a condition such as max_abs <= 1e-3");
  ASSAY_TRY(RuleProgram program, Parser(text).run());
  return std::make_shared<const RuleProgram>(std::move(program));
}

}  // namespace assay

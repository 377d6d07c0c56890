// Rules as the user gives them: --rule TEXT and --rules FILE.yaml.
#include "assay/base/text.h"
#include "assay/judge/judge.h"
#include "assay/support/yaml.h"

#include <yaml-cpp/yaml.h>

namespace assay {
namespace {

// Position of the '=' that ends a pattern; npos where the text is an expression alone.
size_t find_pattern_end(std::string_view text) {
  static constexpr std::string_view kComparison = "=<>!";
  for (size_t at = text.find('='); at != std::string_view::npos; at = text.find('=', at + 1)) {
    const bool touches = (at > 0 && kComparison.find(text[at - 1]) != std::string_view::npos) ||
                         (at + 1 < text.size() && kComparison.find(text[at + 1]) != std::string_view::npos);
    if (touches) continue;
    return trim(text.substr(0, at)).find_first_of(" \t\r\n<>") == std::string_view::npos
               ? at
               : std::string_view::npos;
  }
  return std::string_view::npos;
}

constexpr std::string_view kIgnore = "ignore";

// A place in the file, for messages.
struct Where {
  const std::string& name;
  int64_t line;
};
Where where(const std::string& name, const YAML::Node& node) { return {name, int64_t{node.Mark().line} + 1}; }

tl::unexpected<Error> wrong(const Where& at, std::string_view problem) {
  return fail(ErrorKind::bad_format, "{}:{}: {}", at.name, at.line, problem);
}

Result<Rule> rule_from(const YAML::Node& entry, const std::string& name) {
  if (!entry.IsMap()) return wrong(where(name, entry), "expected a rule with the keys 'match' and 'pass'");
  std::string pattern = "*";
  std::optional<Expression> expression;
  std::optional<int> ignored_at;
  for (const auto& field : entry) {
    const YAML::Node &key = field.first, &value = field.second;
    const std::string& word = key.Scalar();
    if (word != "match" && word != "pass" && word != "ignore")
      return wrong(
          where(name, key),
          fmt::format("unknown key '{}'; a rule has 'match' and 'pass', or 'ignore'", printable(word)));
    if (!value.IsScalar()) return wrong(where(name, key), fmt::format("'{}' needs a text", word));
    if (word == "match") {
      if (value.Scalar().empty())
        return wrong(where(name, value), "'match' is empty; \"*\" matches every name");
      pattern = value.Scalar();
      continue;
    }
    if (word == "ignore") {
      bool is_ignored = false;
      if (!YAML::convert<bool>::decode(value, is_ignored) || !is_ignored)
        return wrong(where(name, value), "'ignore' is true, or is left out");
      ignored_at = key.Mark().line;
      continue;
    }
    Result<Expression> parsed = Expression::parse(value.Scalar());
    if (!parsed) return wrong(where(name, value), parsed.error().message);
    expression = std::move(*parsed);
  }
  if (ignored_at && expression)
    return wrong({name, *ignored_at + 1}, "a rule has 'pass' or 'ignore', not both");
  if (!ignored_at && !expression) return wrong(where(name, entry), "the rule has no 'pass' and no 'ignore'");
  return Rule{std::move(pattern), std::move(expression)};
}

Result<std::vector<Rule>> rules_from(const YAML::Node& root, const std::string& name) try {
  if (!root.IsMap()) return fail(ErrorKind::bad_format, "{}:1: expected a map with the key 'rules'", name);
  for (const auto& field : root)
    if (field.first.Scalar() != "rules")
      return wrong(where(name, field.first),
                   fmt::format("unknown key '{}'; expected 'rules'", printable(field.first.Scalar())));
  const YAML::Node list = root["rules"];
  if (!list || !list.IsSequence() || list.size() == 0)
    return wrong(where(name, list ? list : root), "'rules' needs a list of at least one rule");
  std::vector<Rule> rules;
  rules.reserve(list.size());
  for (const YAML::Node& entry : list) {
    ASSAY_TRY(Rule rule, rule_from(entry, name));
    rules.push_back(std::move(rule));
  }
  return rules;
} catch (const YAML::Exception& e) {
  return fail(ErrorKind::bad_format, "{}:{}: {}", name, e.mark.line + 1, printable(e.msg));
}

}  // namespace

const Rule* find_user_rule(const Comparison& row, std::string_view node, const std::vector<Rule>& rules) {
  for (auto rule = rules.rbegin(); rule != rules.rend(); ++rule)
    for (const std::string_view name : {row.mine.name, row.golden.name, node})
      if (!name.empty() && glob_match(rule->pattern, name)) return &*rule;
  return nullptr;
}

Verdict ignored_by(const Rule& rule) {
  return {Level::ignored, fmt::format("ignored by the rule for '{}'", printable(rule.pattern))};
}

std::string Rule::text() const {
  const std::string_view what = expression ? std::string_view(expression->text()) : kIgnore;
  return pattern == "*" && expression ? std::string(what) : fmt::format("{}={}", pattern, what);
}

Result<Rule> parse_rule(std::string_view text) {
  text = trim(text);
  const size_t end = find_pattern_end(text);
  const bool has_pattern = end != std::string_view::npos;
  if (has_pattern && end == 0)
    return fail(ErrorKind::bad_argument, "rule '{}': nothing before the '='; expected PATTERN=EXPR or EXPR",
                printable(text.substr(0, 60)));
  if (!has_pattern) {
    ASSAY_TRY(Expression expression, Expression::parse(text));
    return Rule{"*", std::move(expression)};
  }
  std::string pattern(trim(text.substr(0, end)));
  const std::string_view rest = trim(text.substr(end + 1));
  if (rest == kIgnore) return Rule{std::move(pattern), std::nullopt};
  Result<Expression> expression = Expression::parse(rest);
  if (expression) return Rule{std::move(pattern), std::move(*expression)};
  // "max_abs = 0" looks like a pattern, and was meant as a comparison.
  const bool is_name = pattern.find_first_of("*?[./") == std::string::npos;
  return fail(expression.error().kind, "{}{}", expression.error().message,
              is_name
                  ? fmt::format("; '{}' is taken for a pattern, write '==' to compare", printable(pattern))
                  : std::string());
}

Result<std::vector<Rule>> read_rules(const fs::path& path) {
  ASSAY_TRY(const YAML::Node root, read_yaml(path));
  return rules_from(root, display(path));
}

}  // namespace assay

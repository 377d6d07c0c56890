// Rules as a user types them, and rule files.
#include "tests/fuzz/target.h"

#include "assay/judge/judge.h"

namespace assay {
namespace {

std::optional<double> look(const void*, std::string_view name) {
  if (name.size() % 3 == 0) return std::nullopt;
  return static_cast<double>(name.size()) - 4.5;
}

void use(const Expression& expression) {
  static_cast<void>(expression.holds(nullptr, look));
  static_cast<void>(expression.names());
  ASSAY_CHECK(expression.why_not(nullptr, look).find('\n') == std::string::npos);
}

}  // namespace
}  // namespace assay

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace assay;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto expression = Expression::parse(text);
  check_error(expression);
  if (expression) use(*expression);
  const auto rule = parse_rule(text);
  check_error(rule);
  if (rule && rule->expression) use(*rule->expression);

  static const TemporaryFile input("rules.yaml");
  input.fill(data, size);
  const auto rules = read_rules(input.path());
  check_error(rules);
  if (rules)
    for (const Rule& each : *rules)
      if (each.expression) use(*each.expression);
  return 0;
}

#include "assay/judge/judge.h"

#include <gmock/gmock.h>
#include <unistd.h>

#include <fstream>

namespace assay {
namespace {

using testing::EndsWith;
using testing::HasSubstr;

TEST(ParseRule, ReadsAnExpressionForAllNames) {
  for (const char* text :
       {"max_abs <= 1e-3", " max_abs<=1e-3 ", "max_abs == 0", "max_abs!=0", "max_abs>=0 or x==1"}) {
    const auto rule = parse_rule(text);
    ASSERT_TRUE(rule) << rule.error().message;
    EXPECT_EQ(rule->pattern, "*");
  }
}

TEST(ParseRule, ReadsAPatternBeforeTheFirstLoneEqualsSign) {
  struct {
    const char *text, *pattern, *expression;
  } cases[] = {
      {"layer*.weight=max_abs <= 1e-3", "layer*.weight", "max_abs <= 1e-3"},
      {"*=max_abs<=1e-3", "*", "max_abs<=1e-3"},
      {"[!a]*=x == 1", "[!a]*", "x == 1"},
      {"a/b.npy= x >= 1 and y == 2", "a/b.npy", "x >= 1 and y == 2"},
      {"*logits* = cosine >= 0.9", "*logits*", "cosine >= 0.9"},
      {"a-b=x<1", "a-b", "x<1"},
  };
  for (const auto& c : cases) {
    const auto rule = parse_rule(c.text);
    ASSERT_TRUE(rule) << rule.error().message;
    EXPECT_EQ(rule->pattern, c.pattern);
    EXPECT_EQ(rule->expression->text(), c.expression);
  }
}

TEST(ParseRule, ExplainsMistakes) {
  EXPECT_THAT(parse_rule("max_abs=1e-3").error().message,
              HasSubstr("'1e-3': column 1: a rule is a condition"));
  EXPECT_THAT(parse_rule("max_abs = 1e-3").error().message, HasSubstr("write '==' to compare"));
  EXPECT_THAT(parse_rule("x <= 1 and y = 2").error().message, HasSubstr("column 14"));
  EXPECT_THAT(parse_rule("=x < 1").error().message, HasSubstr("nothing before the '='"));
  EXPECT_THAT(parse_rule("layer*=").error().message, HasSubstr("empty"));
  EXPECT_FALSE(parse_rule(""));
}

class ReadRules : public testing::Test {
 protected:
  ReadRules() : path_(fs::path(testing::TempDir()) / fmt::format("assay_rules_test_{}.yaml", ::getpid())) {}
  ~ReadRules() override { fs::remove(path_); }

  Result<std::vector<Rule>> read(std::string_view text) {
    std::ofstream(path_, std::ios::binary) << text;
    return read_rules(path_);
  }
  // The message behind the name of the file.
  std::string error(std::string_view text) {
    const auto rules = read(text);
    if (rules) return "no error";
    const std::string& message = rules.error().message;
    const size_t at = message.find(".yaml");
    return at == std::string::npos ? message : message.substr(at);
  }

  fs::path path_;
};

TEST_F(ReadRules, ReadsPatternsAndConditionsInOrder) {
  const auto rules = read(
      "# strict but for the logits\n"
      "rules:\n"
      "  - pass: max_abs <= 1e-3 or cosine >= 0.999\n"
      "  - match: \"*logits*\"\n"
      "    pass: >\n"
      "      cosine >= 0.99\n"
      "      and rel_l2 < 0.1\n");
  ASSERT_TRUE(rules) << rules.error().message;
  ASSERT_EQ(rules->size(), 2u);
  EXPECT_EQ((*rules)[0].pattern, "*");
  EXPECT_EQ((*rules)[0].expression->text(), "max_abs <= 1e-3 or cosine >= 0.999");
  EXPECT_EQ((*rules)[1].pattern, "*logits*");
}

TEST_F(ReadRules, ErrorsNameTheLine) {
  EXPECT_EQ(error("rules:\n  - match: a\n    passes: x < 1\n"),
            ".yaml:3: unknown key 'passes'; a rule has 'match' and 'pass', or 'ignore'");
  EXPECT_EQ(error("rules: []\nlimits: 3\n"), ".yaml:2: unknown key 'limits'; expected 'rules'");
  EXPECT_THAT(error("rules:\n  - pass: x < 1\n  - pass: x <\n"), HasSubstr(".yaml:3: rule 'x <': column 4"));
  EXPECT_EQ(error("rules:\n  - match: a\n"), ".yaml:2: the rule has no 'pass' and no 'ignore'");
  EXPECT_EQ(error("rules:\n  - pass: [1]\n"), ".yaml:2: 'pass' needs a text");
  EXPECT_EQ(error("rules:\n  - match: \"\"\n    pass: x < 1\n"),
            ".yaml:2: 'match' is empty; \"*\" matches every name");
  EXPECT_EQ(error("rules:\n  - match: a\n    match: b\n"), ".yaml:3: key 'match' is given twice");
  EXPECT_EQ(error("rules:\n\n  - x < 1\n"), ".yaml:3: expected a rule with the keys 'match' and 'pass'");
  EXPECT_THAT(error("rules:\n"), HasSubstr("'rules' needs a list"));
  EXPECT_THAT(error("rules: []\n"), HasSubstr(".yaml:1: 'rules' needs a list of at least one rule"));
  EXPECT_EQ(error(""), ".yaml:1: expected a map with the key 'rules'");
  EXPECT_EQ(error("- a\n"), ".yaml:1: expected a map with the key 'rules'");
}

TEST_F(ReadRules, ExplainsAnUnquotedStar) {
  EXPECT_THAT(error("rules:\n  - match: *.weight\n    pass: x < 1\n"),
              HasSubstr(".yaml:2: aliases (*name) are not supported"));
  EXPECT_THAT(error("rules:\n  - match: *\n    pass: x < 1\n"), HasSubstr("in quotes"));
}

TEST_F(ReadRules, ReportsAMissingFile) {
  const auto rules = read_rules("no/such/rules.yaml");
  ASSERT_FALSE(rules);
  EXPECT_THAT(rules.error().message, HasSubstr("no/such/rules.yaml"));
}

}  // namespace
}  // namespace assay

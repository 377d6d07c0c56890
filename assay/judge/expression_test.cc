#include "assay/judge/judge.h"

#include <fmt/format.h>
#include <gmock/gmock.h>

#include <cmath>
#include <limits>
#include <map>

namespace assay {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

using Numbers = std::map<std::string, double, std::less<>>;

std::optional<double> look(const void* context, std::string_view name) {
  const auto& numbers = *static_cast<const Numbers*>(context);
  const auto found = numbers.find(name);
  if (found == numbers.end()) return std::nullopt;
  return found->second;
}

bool holds(std::string_view text, const Numbers& numbers = {}) {
  const auto expression = Expression::parse(text);
  if (!expression) ADD_FAILURE() << expression.error().message;
  return expression && expression->holds(&numbers, look);
}

std::string why_not(std::string_view text, const Numbers& numbers = {}) {
  const auto expression = Expression::parse(text);
  if (!expression) ADD_FAILURE() << expression.error().message;
  return expression ? expression->why_not(&numbers, look) : "";
}

std::string error(std::string_view text) {
  const auto expression = Expression::parse(text);
  return expression ? "no error" : expression.error().message;
}

TEST(Expression, ProductsBindTighterThanSums) {
  EXPECT_TRUE(holds("2 + 3 * 4 == 14"));
  EXPECT_TRUE(holds("(2 + 3) * 4 == 20"));
  EXPECT_TRUE(holds("20 / 2 / 5 == 2"));
  EXPECT_TRUE(holds("10 - 4 - 3 == 3"));
  EXPECT_TRUE(holds("-2 * -3 == 6"));
  EXPECT_TRUE(holds("2 - -3 == 5"));
  EXPECT_TRUE(holds("-(1 + 2) == -3"));
  EXPECT_TRUE(holds("1 + 1 < 3 * 1"));
}

TEST(Expression, AndBindsTighterThanOrAndNotTighterThanAnd) {
  EXPECT_TRUE(holds("1 < 2 or 1 > 2 and 1 > 2"));
  EXPECT_FALSE(holds("(1 < 2 or 1 > 2) and 1 > 2"));
  EXPECT_TRUE(holds("not 1 > 2 and 1 < 2"));
  EXPECT_FALSE(holds("not (1 > 2 or 1 < 2)"));
  EXPECT_TRUE(holds("not not 1 < 2"));
}

TEST(Expression, ComparesInAllSixWays) {
  const Numbers n = {{"a", 1}, {"b", 2}};
  EXPECT_TRUE(holds("a < b and a <= b and b > a and b >= a and a != b and a == a and a <= 1 and a >= 1", n));
  EXPECT_FALSE(holds("a < a", n));
  EXPECT_FALSE(holds("a == b", n));
  EXPECT_FALSE(holds("a != a", n));
}

TEST(Expression, KnowsItsFunctionsAndConstants) {
  EXPECT_TRUE(
      holds("abs(-3) == 3 and min(2, 5) == 2 and max(2, 5) == 5 and sqrt(9) == 3 and log10(1000) == 3"));
  EXPECT_TRUE(holds("1e-3 == 0.001 and .5 == 0.5 and 2. == 2"));
  EXPECT_TRUE(holds("1e308 < inf and -inf < 0"));
  EXPECT_TRUE(holds("max(1, min(7, 3)) == 3"));
}

TEST(Expression, NaNEqualsOnlyItselfAndHasNoOrder) {
  EXPECT_TRUE(holds("nan == nan"));
  EXPECT_TRUE(holds("1 != nan"));
  EXPECT_FALSE(holds("1 == nan"));
  EXPECT_FALSE(holds("not (nan > 1)"));
  EXPECT_FALSE(holds("min(nan, 1) <= 1"));
  EXPECT_FALSE(holds("max(1, nan) >= 1"));
  EXPECT_FALSE(holds("sqrt(-1) < 1"));
}

TEST(Expression, AbsentNumbersNeverPass) {
  EXPECT_FALSE(holds("missing <= 1"));
  EXPECT_FALSE(holds("not (missing > 1)"));
  EXPECT_FALSE(holds("missing + 1 > 0"));
  EXPECT_FALSE(holds("missing * 0 == 0"));
  EXPECT_FALSE(holds("missing == missing"));
  EXPECT_FALSE(holds("max(missing, 1) >= 1"));
  EXPECT_FALSE(holds("-missing < 0 or abs(missing) >= 0"));
}

TEST(Expression, UnknownIsDecidedByTheOtherSideWhereThatSuffices) {
  EXPECT_TRUE(holds("missing > 1 or 1 < 2"));
  EXPECT_TRUE(holds("1 < 2 or missing > 1"));
  EXPECT_FALSE(holds("missing > 1 and 1 < 2"));
  EXPECT_TRUE(holds("not (missing > 1 and 1 > 2)"));  // unknown and false is false
  EXPECT_FALSE(holds("not (missing > 1 or 1 > 2)"));  // unknown or false is unknown
}

TEST(Expression, ListsNamesOnceAndWithoutFunctions) {
  const auto e = Expression::parse("max(max_abs, eps) <= 1 or abs(mean) < eps and inf > 1");
  ASSERT_TRUE(e);
  EXPECT_THAT(e->names(), ElementsAre("max_abs", "eps", "mean"));
  EXPECT_EQ(e->text(), "max(max_abs, eps) <= 1 or abs(mean) < eps and inf > 1");
}

TEST(Expression, ExplainsWithNumbers) {
  const Numbers n = {{"max_abs", 0.5}, {"cosine", 0.9}, {"golden_rms", 2}};
  EXPECT_EQ(why_not("max_abs <= 1e-3 or cosine >= 0.999", n), "max_abs 0.5 > 0.001; cosine 0.9 < 0.999");
  EXPECT_EQ(why_not("max_abs <= 0.1 * golden_rms", n), "max_abs 0.5 > 0.2 (0.1 * golden_rms)");
  EXPECT_EQ(why_not("(max_abs +\n  1) * 2 == 2", n), "3 ((max_abs + 1) * 2) != 2");
  EXPECT_EQ(why_not("max_abs > -1 and max_abs != 0.5", n), "max_abs 0.5 == 0.5");
  EXPECT_EQ(why_not("1 > max_abs", n), "");
}

TEST(Expression, ExplainsOnlyWhatMattered) {
  const Numbers n = {{"a", 1}, {"b", 2}};
  EXPECT_EQ(why_not("(a > 5 or b == 2) and b < 1", n), "b 2 >= 1");
  EXPECT_EQ(why_not("not (a < 5)", n), "a 1 < 5");
  EXPECT_EQ(why_not("not (a < 5 and b > 7) and a == 0", n), "a 1 != 0");
}

TEST(Expression, ExplainsAbsentNumbers) {
  EXPECT_EQ(why_not("cosine >= 0.9 or max_abs <= 2 * eps", {{"max_abs", 1}}),
            "cosine is not available; eps is not available");
  EXPECT_EQ(why_not("cosine >= 0.9", {{"cosine", std::nan("")}}), "cosine is not a number");
}

TEST(Expression, ExplainsFourReasonsAtMost) {
  EXPECT_EQ(why_not("1 > 2 or 1 > 3 or 1 > 4 or 1 > 2 or 1 > 5 or 1 > 6"), "1 <= 2; 1 <= 3; 1 <= 4; 1 <= 5");
}

TEST(Expression, ErrorsNameTheColumn) {
  EXPECT_EQ(error("max_abs <= "),
            "rule 'max_abs <= ': column 12: expected a number, a name or '(', found the end");
  EXPECT_THAT(error("a < 1 )"),
              HasSubstr("column 7: expected 'and', 'or', an operator or the end, found ')'"));
  EXPECT_THAT(error("(a < 1"), HasSubstr("column 7: expected ')'"));
  EXPECT_THAT(error("a < 1 b"), HasSubstr("column 7"));
  EXPECT_THAT(error("a = 1"), HasSubstr("column 3: '=' is no comparison: write '=='"));
  EXPECT_THAT(error("a < 1 && b < 1"), HasSubstr("column 7: write 'and'"));
  EXPECT_THAT(error("a < 1 || b < 1"), HasSubstr("column 7: write 'or'"));
  EXPECT_THAT(error("!a"), HasSubstr("column 1: write 'not'"));
  EXPECT_THAT(error("a < 12x"), HasSubstr("column 5: '12x' is not a number"));
  EXPECT_THAT(error("a < 1.2.3"), HasSubstr("'1.2.3' is not a number"));
  EXPECT_THAT(error("a < 1e999"), HasSubstr("beyond the range"));
  EXPECT_THAT(error("größe < 1"), HasSubstr("column 3: unexpected 'ö'"));
  EXPECT_THAT(error("gr < ö"), HasSubstr("column 6"));
  EXPECT_THAT(error("'ö' < %"), HasSubstr("column 1: unexpected '''"));
}

TEST(Expression, ErrorsAboutFunctions) {
  EXPECT_THAT(error("foo(1) < 2"), HasSubstr("column 1: no function 'foo'; there are abs"));
  EXPECT_THAT(error("abs < 2"), HasSubstr("column 1: function 'abs' needs its arguments"));
  EXPECT_THAT(error("min(1) < 2"), HasSubstr("column 6: 'min' takes 2 arguments"));
  EXPECT_THAT(error("abs(1, 2) < 2"), HasSubstr("column 6: 'abs' takes 1 argument: expected ')', found ','"));
  EXPECT_THAT(error("abs() < 2"), HasSubstr("column 5"));
  EXPECT_THAT(error("abs(a < 1) < 2"), HasSubstr("column 5: 'abs' needs a number here"));
}

TEST(Expression, KeepsConditionsAndNumbersApart) {
  EXPECT_THAT(error("max_abs"), HasSubstr("a rule is a condition"));
  EXPECT_THAT(error("1 < a < 3"), HasSubstr("column 1: '<' needs a number here, found a condition"));
  EXPECT_THAT(error("a < 1 or b"), HasSubstr("column 10: 'or' needs a condition here, found a number"));
  EXPECT_THAT(error("a and b < 1"), HasSubstr("column 1: 'and' needs a condition"));
  EXPECT_THAT(error("not a"), HasSubstr("column 5: 'not' needs a condition"));
  EXPECT_THAT(error("-(a < 1) < 2"), HasSubstr("column 2: '-' needs a number"));
  EXPECT_THAT(error("1 + not a < b"), HasSubstr("column 5: '+' needs a number"));
}

TEST(Expression, RefusesNothing) {
  EXPECT_THAT(error(""), HasSubstr("empty"));
  EXPECT_THAT(error(" \t"), HasSubstr("empty"));
  EXPECT_THAT(error("and"), HasSubstr("column 1: expected a number"));
  EXPECT_THAT(error("()"), HasSubstr("column 2: expected a number"));
}

TEST(Expression, BoundsDepth) {
  const auto nested = [](size_t n) { return std::string(n, '(') + "1 < 2" + std::string(n, ')'); };
  EXPECT_TRUE(holds(nested(200)));
  EXPECT_THAT(error(nested(201)), HasSubstr("nested more than 200 deep"));
  EXPECT_THAT(error(std::string(60000, '(')), HasSubstr("column 202: nested"));
  EXPECT_THAT(error("1 < " + std::string(60000, '-') + "1"), HasSubstr("nested"));
  std::string nots;
  for (int i = 0; i < 10000; ++i) nots += "not ";
  EXPECT_THAT(error(nots + "1 < 2"), HasSubstr("nested"));
  std::string calls;
  for (int i = 0; i < 10000; ++i) calls += "abs(";
  EXPECT_THAT(error(calls), HasSubstr("nested"));
}

TEST(Expression, BoundsLengthAndTakesLongChains) {
  EXPECT_THAT(error(std::string(1 << 20, 'a')), HasSubstr("1048576 bytes is too long"));
  std::string chain = "1 > 2";
  while (chain.size() < 65000) chain += " or 1 > 2";
  EXPECT_FALSE(holds(chain));
  EXPECT_TRUE(holds(chain + " or 2 > 1"));
  EXPECT_EQ(why_not(chain), "1 <= 2");
  std::string names = "1 < 0";
  for (int i = 0; names.size() < 65000; ++i) names += fmt::format(" or n{} < 0", i);
  EXPECT_FALSE(holds(names));
}

TEST(Expression, ErrorsStayOnOneLine) {
  EXPECT_EQ(error("a <\n 1 2").find('\n'), std::string::npos);
  EXPECT_EQ(error(std::string("a < \x01\xff", 6)), "rule 'a < \\x01\\xff': column 5: unexpected '\\x01'");
}

}  // namespace
}  // namespace assay

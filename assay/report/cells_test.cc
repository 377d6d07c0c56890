#include "assay/report/cells.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace assay {
namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();
const double kNan = std::numeric_limits<double>::quiet_NaN();

std::string csv(const Value& value) {
  std::string out;
  append_csv(out, value);
  return out;
}

std::string json(const Value& value) {
  std::string out;
  append_json(out, value);
  return out;
}

std::string sheet(std::string_view text) {
  std::string out;
  append_sheet_text(out, text);
  return out;
}

TEST(Cells, NumbersAreShortestTextThatReadsBack) {
  EXPECT_EQ(csv(0.1), "0.1");
  EXPECT_EQ(csv(1.0), "1");
  EXPECT_EQ(csv(1.0 / 3), "0.3333333333333333");
  EXPECT_EQ(csv(5e-324), "5e-324");
  EXPECT_EQ(csv(std::numeric_limits<int64_t>::min()), "-9223372036854775808");
  EXPECT_EQ(csv(true), "true");
  EXPECT_EQ(csv(Value()), "");
}

TEST(Cells, NanAndInfinityAreSpelledAlike) {
  EXPECT_EQ(csv(kNan), "nan");
  EXPECT_EQ(csv(std::copysign(kNan, -1)), "nan");
  EXPECT_EQ(csv(-kInf), "-inf");
  EXPECT_EQ(plain(kInf), "inf");
  EXPECT_EQ(json(kNan), "\"nan\"");
  EXPECT_EQ(json(-kInf), "\"-inf\"");
  EXPECT_EQ(json(Value()), "null");
}

TEST(Csv, QuotesOnlyWhereNeeded) {
  EXPECT_EQ(csv("plain text"), "plain text");
  EXPECT_EQ(csv("[2, 3]"), "\"[2, 3]\"");
  EXPECT_EQ(csv("say \"x\""), "\"say \"\"x\"\"\"");
  EXPECT_EQ(csv("two\nlines"), "two\\x0alines");
}

TEST(Csv, TakesTheTeethOutOfFormulas) {
  EXPECT_EQ(csv("=1+1"), "'=1+1");
  EXPECT_EQ(csv("@SUM(A1)"), "'@SUM(A1)");
  EXPECT_EQ(csv("-layer"), "'-layer");
  EXPECT_EQ(csv("+a,b"), "\"'+a,b\"");
  EXPECT_EQ(csv("%x"), "'%x");
  EXPECT_EQ(csv("＝1"), "'＝1");
  EXPECT_EQ(csv("－1"), "'－1");
  EXPECT_EQ(csv("+"), "'+");
  EXPECT_EQ(csv("-nan(A1)"), "'-nan(A1)");
  EXPECT_EQ(csv("--5"), "'--5");
  EXPECT_TRUE(looks_like_formula("\t=1"));
  EXPECT_FALSE(looks_like_formula("-0.5;1e-05;nan"));
  EXPECT_TRUE(looks_like_formula("-0.5;=1"));
  EXPECT_TRUE(looks_like_formula("-0.5;"));
  EXPECT_EQ(csv("\t=1"), "\\x09=1");
}

TEST(Csv, LeavesTextThatIsANumber) {
  for (const char* text : {"-0.5", "+3", "-inf", "-nan", "+5%", "-1e-9", "5%"}) EXPECT_EQ(csv(text), text);
}

TEST(Shown, HidesWhatTerminalsObeyAndXmlForbids) {
  EXPECT_EQ(shown("caf\xC3\xA9 层"), "café 层");
  EXPECT_EQ(shown("a\x1b[31m"), "a\\x1b[31m");
  EXPECT_EQ(shown("\xff"), "\\xff");
  EXPECT_EQ(shown("\xC2\x9B"), "\\xc2\\x9b");           // C1: control sequence introducer
  EXPECT_EQ(shown("\xEF\xBF\xBE"), "\\xef\\xbf\\xbe");  // U+FFFE
  EXPECT_EQ(shown("\xE2\x80\xAE"), "\\xe2\\x80\\xae");  // right-to-left override
  EXPECT_EQ(shown("\xE2\x80\xA6\xEF\xBF\xBD"), "\xE2\x80\xA6\xEF\xBF\xBD");  // … and U+FFFD stay
}

TEST(Json, EscapesQuotesAndBackslashes) {
  EXPECT_EQ(json("a\"b\\c"), "\"a\\\"b\\\\c\"");
  EXPECT_EQ(json("\xff"), "\"\\\\xff\"");
}

TEST(SheetText, EscapesMarkupAndCharacterCodes) {
  EXPECT_EQ(sheet("a<b>&\"'"), "a&lt;b&gt;&amp;&quot;&#39;");
  EXPECT_EQ(sheet("=1"), "&#39;=1");
  EXPECT_EQ(sheet("_x0041_"), "_x005F_x0041_");
  EXPECT_EQ(sheet("max_x1"), "max_x1");
  EXPECT_EQ(sheet("_xZZZZ_"), "_xZZZZ_");
}

TEST(SheetText, CutsBetweenCharactersWhereExcelWouldRefuse) {
  const std::string longest = sheet(std::string(32'700, 'a'));
  EXPECT_EQ(longest.size(), 32'700U);
  std::string wide;
  for (int i = 0; i < 20'000; ++i) wide += "层";
  const std::string cut = sheet(wide);
  EXPECT_EQ(cut.size(), 32'700U + 3);  // 10,900 characters of 3 bytes, and …
  EXPECT_TRUE(cut.ends_with("层…"));
}

}  // namespace
}  // namespace assay

// Cells as pandas and openpyxl write them, for the tables of other tools.
#include "assay/report/cells.h"
#include "assay/report/xlsx_parts.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace assay {
namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();
const double kNan = std::numeric_limits<double>::quiet_NaN();

std::string csv(const Value& value) {
  std::string out;
  append_python_csv(out, value);
  return out;
}

// What pandas 1.5's to_csv writes for a column of objects that holds these.
TEST(PythonCsv, WritesNumbersAsPythonDoes) {
  EXPECT_EQ(csv(1.0), "1.0");
  EXPECT_EQ(csv(-0.0), "-0.0");
  EXPECT_EQ(csv(0.1), "0.1");
  EXPECT_EQ(csv(1.0 / 3), "0.3333333333333333");
  EXPECT_EQ(csv(1e-5), "1e-05");
  EXPECT_EQ(csv(0.0001), "0.0001");
  EXPECT_EQ(csv(1e15), "1000000000000000.0");
  EXPECT_EQ(csv(1e16), "1e+16");
  EXPECT_EQ(csv(5e-324), "5e-324");
  EXPECT_EQ(csv(int64_t{3}), "3");
  EXPECT_EQ(csv(true), "True");
  EXPECT_EQ(csv(false), "False");
}

TEST(PythonCsv, LeavesNanAndAbsentCellsEmptyAndKeepsInfinitiesFromSpreadsheets) {
  EXPECT_EQ(csv(kNan), "");
  EXPECT_EQ(csv(Value()), "");
  EXPECT_EQ(csv(kInf), " inf");
  EXPECT_EQ(csv(-kInf), " -inf");
}

TEST(PythonCsv, QuotesOnlyWhereNeeded) {
  EXPECT_EQ(csv("plain text"), "plain text");
  EXPECT_EQ(csv("[2, 3]"), "\"[2, 3]\"");
  EXPECT_EQ(csv("say \"x\""), "\"say \"\"x\"\"\"");
  EXPECT_EQ(csv("two\nlines"), "\"two\nlines\"");
  EXPECT_EQ(csv("inf\t"), "inf\t");
  EXPECT_EQ(csv(""), "");
}

TEST(PythonCsv, ShowsControlCharactersAndTakesTheTeethOutOfFormulas) {
  EXPECT_EQ(csv("a\x1b[31m\rb"), "a\\x1b[31m\\x0db");
  EXPECT_EQ(csv("\xff"), "\\xff");
  EXPECT_EQ(csv("=1+1"), "'=1+1");
  EXPECT_EQ(csv("-x\ny"), "\"'-x\ny\"");
  EXPECT_EQ(csv("\t=1"), "'\t=1");
  for (const char* const number : {"-inf", "-nan", "+3", "-5%", "-1e-9", "-inf\t"})
    EXPECT_EQ(csv(number), number);
}

std::string xlsx(const Value& value, Print print, XlsxStyle style = XlsxStyle::plain) {
  std::string out;
  append_xlsx_cell(out, value, style, print);
  return out;
}
std::string text_cell(std::string_view text, bool preserve = false) {
  return "<c t=\"inlineStr\"><is><t" + std::string(preserve ? " xml:space=\"preserve\">" : ">") +
         std::string(text) + "</t></is></c>";
}

// openpyxl stores 16 significant digits, and no difference between 1 and 1.0.
TEST(PythonXlsx, StoresSixteenDigits) {
  for (const Print print : {Print::python, Print::python_as_text}) {
    EXPECT_EQ(xlsx(-0.10000000000000009, print), "<c><v>-0.1000000000000001</v></c>");
    EXPECT_EQ(xlsx(1.0, print), "<c><v>1</v></c>");
    EXPECT_EQ(xlsx(1e22, print), "<c><v>1e+22</v></c>");
    EXPECT_EQ(xlsx(int64_t{7}, print), "<c><v>7</v></c>");
  }
}

TEST(PythonXlsx, WritesPlainSheetsAsPandasDoes) {
  EXPECT_EQ(xlsx(true, Print::python), "<c t=\"b\"><v>1</v></c>");
  EXPECT_EQ(xlsx(Value(), Print::python), "<c/>");
  EXPECT_EQ(xlsx(kNan, Print::python), "<c/>");
  EXPECT_EQ(xlsx(kInf, Print::python), text_cell("inf"));
  EXPECT_EQ(xlsx(-kInf, Print::python), text_cell("-inf"));
}

TEST(PythonXlsx, WritesColouredSheetsAsTexts) {
  EXPECT_EQ(xlsx(true, Print::python_as_text), text_cell("True"));
  EXPECT_EQ(xlsx(Value(), Print::python_as_text), text_cell("None"));
  EXPECT_EQ(xlsx(kNan, Print::python_as_text), text_cell("nan\t", true));
  EXPECT_EQ(xlsx(kInf, Print::python_as_text), text_cell("inf\t", true));
  EXPECT_EQ(xlsx(-kInf, Print::python_as_text), text_cell("-inf\t", true));
  EXPECT_EQ(xlsx(0.5, Print::python_as_text, XlsxStyle::red), "<c s=\"6\"><v>0.5</v></c>");
  EXPECT_EQ(xlsx("a\nb", Print::python_as_text, XlsxStyle::yellow),
            "<c s=\"7\" t=\"inlineStr\"><is><t>a\nb</t></is></c>");
}

TEST(PythonXlsx, TakesTheTeethOutOfFormulas) {
  for (const Print print : {Print::python, Print::python_as_text}) {
    EXPECT_EQ(xlsx("=1", print), text_cell("&#39;=1"));
    EXPECT_EQ(xlsx("-5%", print), text_cell("-5%"));
  }
}

}  // namespace
}  // namespace assay
